"""What Milvus needs beside its chart, and what the chart makes of what it is told."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pulumi
import pytest
import yaml

from components.accelerators import ACCELERATORS, Vendor
from components.milvus import ACCOUNT, NAMESPACE, ROOT_PASSWORD, MilvusSettings, MilvusStores, claims
from components.platform.catalog import CHARTS
from components.platform.milvus import ON_GPUS, SECRET, VERSION, Milvus, MilvusArgs, pod_specs
from components.platform.pool_values import value_at
from components.pools import POOL_LABEL, Pool
from components.release import ChartSource, overlaid, read_chart
from localcloud.api_groups import CRDS_ONLY
from schema.fields import quantity
from tests.platform.rendering import Objects, rendered
from tests.world import Built, run

KEY, BUCKET = "arn:aws:kms:us-west-2:111122223333:key/1", "arn:aws:s3:::vectors"
CHART = read_chart(CHARTS["milvus"])
TAINT = {"key": "team", "value": "search", "effect": "NoSchedule"}
VARIANTS: list[dict[str, Any]] = [
    {"mode": "standalone"},
    {"mode": "cluster"},
    {"mode": "cluster", "message_queue": "pulsar"},
]
RUNNING = ("Deployment", "StatefulSet", "Job")

each_variant = pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: "-".join(variant.values()))


def pool(name: str, vendor: Vendor | None = None) -> Pool:
    taints = [*([ACCELERATORS[vendor].taint] if vendor else []), TAINT]
    return Pool(name, vendor, "al2023", taints, None, "device-plugin", False, ("amd64",))


POOLS = [pool("general"), pool("gpu", Vendor.NVIDIA), pool("other")]


def settings(**said: Any) -> MilvusSettings:
    plain = {"mode": "standalone", "message_queue": "woodpecker", "pools": (), "gpu": None, "etcd_gib": 50}
    return MilvusSettings(**(plain | said))


def milvus(*, region: str = "us-west-2", **said: Any) -> Built[Milvus]:
    def build() -> Milvus:
        known = pulumi.Output.from_input
        args = MilvusArgs(
            **settings(**said),
            cluster_name="eksai-dev",
            region=region,
            key_arn=KEY,
            stores=MilvusStores(known("vectors"), known(BUCKET), known("eksai-dev/milvus")),
            stack_pools=POOLS,
        )
        return Milvus("milvus", args)

    return run(build)


def values(**said: Any) -> dict[str, Any]:
    built = milvus(**said)
    plain = dict(built.result.values)
    plain["externalS3"] = {key: built.value(value) for key, value in plain["externalS3"].items()}
    return plain


def objects(
    own: dict[str, Any] | None = None, registry: str | None = None, *, is_upgrade: bool = False, **said: Any
) -> Objects:
    told = overlaid(CHART.values, ChartSource(image_registry=registry).images(CHART))
    return rendered(CHART, overlaid(overlaid(told, values(**said)), own or {}), is_upgrade=is_upgrade)


def pods(made: Objects) -> Iterator[tuple[str, dict[str, Any]]]:
    for (kind, name), item in made.items():
        if kind in RUNNING:
            yield name, item["spec"]["template"]["spec"]


def of_milvus(made: Objects) -> dict[str, dict[str, Any]]:
    """The pods of Milvus itself, without those that it stores in."""
    return {name: spec for name, spec in pods(made) if "etcd" not in name and "pulsar" not in name}


def statements(built: Built[Milvus]) -> list[dict[str, Any]]:
    return json.loads(built.only("aws:iam/rolePolicy:RolePolicy").inputs["policy"])["Statement"]


def test_its_pods_have_the_account_that_the_identity_is_for():
    found = milvus().only("aws:eks/podIdentityAssociation:PodIdentityAssociation").inputs
    assert (found["namespace"], found["serviceAccount"]) == (CHART.namespace, ACCOUNT) == (NAMESPACE, ACCOUNT)
    for variant in VARIANTS:
        for name, spec in of_milvus(objects(**variant)).items():
            assert spec["serviceAccountName"] == ACCOUNT, name


def test_they_may_read_and_write_objects_of_their_bucket_and_nothing_else():
    found = {json.dumps(one["Resource"]): set(one["Action"]) for one in statements(milvus())}
    assert set(found) == {f'"{BUCKET}/*"', f'"{BUCKET}"', f'"{KEY}"'}
    assert {"s3:GetObject", "s3:PutObject", "s3:DeleteObject"} <= found[f'"{BUCKET}/*"']
    assert "s3:ListBucket" in found[f'"{BUCKET}"']
    assert not [action for actions in found.values() for action in actions if re.search("DeleteBucket|Policy", action)]


@pytest.mark.parametrize(
    ("region", "service"),
    [("us-west-2", "s3.us-west-2.amazonaws.com"), ("cn-north-1", "s3.cn-north-1.amazonaws.com.cn")],
)
def test_the_key_is_used_through_the_s3_that_it_talks_to(region: str, service: str):
    (statement,) = [one for one in statements(milvus(region=region)) if one["Resource"] == KEY]
    assert statement["Condition"] == {"StringEquals": {"kms:ViaService": service}}
    assert values(region=region)["externalS3"]["host"] == service


@each_variant
def test_it_keeps_its_data_in_the_bucket(variant: dict[str, Any]):
    said = yaml.safe_load(objects(**variant)["ConfigMap", "milvus"]["data"]["default.yaml"])
    assert said["minio"] == {
        "address": "s3.us-west-2.amazonaws.com",
        "port": 443,
        "accessKeyID": None,
        "secretAccessKey": None,
        "useSSL": True,
        "bucketName": "vectors",
        "rootPath": "milvus",
        "useIAM": True,
        "cloudProvider": "aws",
        "iamEndpoint": None,
        "region": "us-west-2",
        "useVirtualHost": False,
    }
    assert said["woodpecker"]["storage"]["type"] == "minio", "the log of new data is in S3 as well"


def environment(spec: dict[str, Any]) -> dict[str, Any]:
    (container,) = spec["containers"]
    return {one["name"]: one.get("value", one.get("valueFrom")) for one in container["env"]}


@each_variant
def test_nobody_gets_in_without_a_password(variant: dict[str, Any]):
    for name, spec in of_milvus(objects(**variant)).items():
        assert environment(spec)["COMMON_SECURITY_AUTHORIZATIONENABLED"] == "true", name


@each_variant
def test_the_first_password_of_root_is_the_delivered_one(variant: dict[str, Any]):
    secret = milvus().only("kubernetes:external-secrets.io/v1:ExternalSecret").inputs
    assert (secret["metadata"]["name"], secret["metadata"]["namespace"]) == (SECRET, CHART.namespace)
    (item,) = secret["spec"]["data"]
    assert item["remoteRef"] == {"key": "eksai-dev/milvus", "property": ROOT_PASSWORD}
    has = {
        name: environment(spec).get("COMMON_SECURITY_DEFAULTROOTPASSWORD")
        for name, spec in of_milvus(objects(**variant)).items()
    }
    coordinator = "milvus-standalone" if variant["mode"] == "standalone" else "milvus-mixcoord"
    assert {name for name, reference in has.items() if reference} == {coordinator}, "it is made by the coordinator"
    assert has[coordinator] == {"secretKeyRef": {"name": SECRET, "key": item["secretKey"]}}


@each_variant
def test_no_password_is_in_the_values(variant: dict[str, Any]):
    text = json.dumps(overlaid(CHART.values, values(**variant)))
    assert "minioadmin" not in text
    assert not re.search(r'"[^"]*(password|secretKey|accessKey)[^"]*": "', text, re.IGNORECASE)


@each_variant
def test_the_queue_is_the_one_that_the_stack_says(variant: dict[str, Any]):
    made = objects(**variant)
    queue = variant.get("message_queue", "woodpecker")
    assert {environment(spec)["MQ_TYPE"] for spec in of_milvus(made).values()} == {queue}
    assert any("pulsar" in name for _, name in made) == (queue == "pulsar")


@each_variant
def test_the_stack_makes_every_claim_that_a_pod_looks_for(variant: dict[str, Any]):
    made, expected = objects(**variant), {}
    for (kind, name), item in made.items():
        assert kind != "PersistentVolumeClaim", f"{name} would be a volume that the stack does not know"
        if kind == "StatefulSet":
            for template in item["spec"].get("volumeClaimTemplates", ()):
                for index in range(item["spec"]["replicas"]):
                    expected[f"{template['metadata']['name']}-{name}-{index}"] = template["spec"]
    smallest = {claim.name: claim for claim in claims(settings(**variant, etcd_gib=10))}
    assert set(smallest) == set(expected)
    for name, spec in expected.items():
        assert smallest[name].namespace == CHART.namespace
        assert smallest[name].gib * 1024**3 >= quantity(spec["resources"]["requests"]["storage"]), name
        assert spec["storageClassName"] == "gp3", name


def test_a_server_with_several_volumes_has_them_in_one_zone():
    places: dict[str, set[int]] = {}
    for claim in claims(settings(mode="cluster", message_queue="pulsar")):
        if "bookie" in claim.name:
            places.setdefault(claim.name.rpartition("-")[2], set()).add(claim.place)
    assert sorted(map(len, places.values())) == [1, 1, 1]
    assert len({place for found in places.values() for place in found}) == 3


def test_the_size_of_etcds_volumes_changes_no_stateful_set():
    small, large = (objects(mode="cluster", etcd_gib=gib)["StatefulSet", "milvus-etcd"] for gib in (10, 500))
    assert small == large, "its templates cannot be changed"


@pytest.mark.parametrize("mode", ["standalone", "cluster"])
def test_a_member_of_etcd_stays_one_when_its_pod_ends(mode: str):
    (_, spec) = next(item for item in pods(objects(mode=mode)) if item[0] == "milvus-etcd")
    (container,) = spec["containers"]
    assert "lifecycle" not in container, "who left could not come back with the volume that it had"


@pytest.mark.parametrize("mode", ["standalone", "cluster"])
def test_a_member_of_etcd_starts_from_its_volume_and_nothing_else(mode: str):
    spec = objects(mode=mode)["StatefulSet", "milvus-etcd"]["spec"]["template"]["spec"]
    said = environment(spec)
    assert (said["ETCD_START_FROM_SNAPSHOT"], said["ETCD_DISASTER_RECOVERY"]) == ("no", "no")
    (mount,) = spec["containers"][0]["volumeMounts"]
    assert mount["name"] == "data"
    assert said["ETCD_DATA_DIR"].startswith(f"{mount['mountPath']}/")


@pytest.mark.parametrize("is_upgrade", [False, True], ids=["install", "upgrade"])
def test_members_of_etcd_without_data_find_each_other(is_upgrade: bool):
    made = objects(mode="cluster", is_upgrade=is_upgrade)
    etcd = made["StatefulSet", "milvus-etcd"]["spec"]
    said = environment(etcd["template"]["spec"])
    assert said["ETCD_INITIAL_CLUSTER_STATE"] == "new", "an install may have ended before there was a cluster"
    assert said["ETCD_INITIAL_CLUSTER"].count("=http://") == etcd["replicas"] == 3
    assert etcd["podManagementPolicy"] == "Parallel", "the first waits for the others"
    assert made["Service", "milvus-etcd-headless"]["spec"]["publishNotReadyAddresses"] is True


def test_an_upgrade_restarts_no_member_of_etcd_for_nothing():
    install, upgrade = (objects(mode="cluster", is_upgrade=later) for later in (False, True))
    assert install["StatefulSet", "milvus-etcd"] == upgrade["StatefulSet", "milvus-etcd"]


@pytest.mark.parametrize("is_upgrade", [False, True], ids=["install", "upgrade"])
def test_pulsars_metadata_is_laid_out_whenever_it_is_missing(is_upgrade: bool):
    made = objects(mode="cluster", message_queue="pulsar", is_upgrade=is_upgrade)
    jobs = {name: item["spec"] for (kind, name), item in made.items() if kind == "Job"}
    assert set(jobs) == {"milvus-pulsarv3-bookie-init", "milvus-pulsarv3-pulsar-init"}
    for name, spec in jobs.items():
        assert spec["ttlSecondsAfterFinished"] <= 60, f"{name} would be in the way of an upgrade that changes it"
    (container,) = jobs["milvus-pulsarv3-bookie-init"]["template"]["spec"]["containers"]
    script = container["args"][0]
    assert script.index("if bin/bookkeeper shell whatisinstanceid") < script.index("initnewcluster"), "what is, stays"


@pytest.mark.parametrize("is_upgrade", [False, True], ids=["install", "upgrade"])
def test_nothing_of_pulsar_empties_a_volume(is_upgrade: bool):
    for name, spec in pods(objects(mode="cluster", message_queue="pulsar", is_upgrade=is_upgrade)):
        for container in [*spec["containers"], *(spec.get("initContainers") or ())]:
            script = " ".join([*(container.get("command") or ()), *(container.get("args") or ())])
            assert not re.search(r"bookieformat|metaformat|nukeexistingcluster|rm -r", script), name


@each_variant
def test_its_own_pods_are_content_with_the_strictest_level(variant: dict[str, Any]):
    strict = {name: spec for name, spec in pods(objects(**variant)) if "pulsar" not in name}
    assert strict
    for name, spec in strict.items():
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        for container in [*spec["containers"], *(spec.get("initContainers") or ())]:
            assert container["securityContext"]["allowPrivilegeEscalation"] is False, name
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}, name
        assert not any(set(volume) & {"hostPath", "nfs"} for volume in spec.get("volumes") or ()), name


@each_variant
def test_every_container_asks_for_what_it_needs(variant: dict[str, Any]):
    for name, spec in pods(objects(**variant)):
        for container in [*spec["containers"], *(spec.get("initContainers") or ())]:
            assert {"cpu", "memory"} <= set(container["resources"]["requests"]), name
            assert "memory" in container["resources"]["limits"], name


@each_variant
def test_with_a_registry_every_image_comes_from_there(variant: dict[str, Any]):
    for name, spec in pods(objects(registry="registry.example.com:5000/mirror", **variant)):
        for container in [*spec["containers"], *(spec.get("initContainers") or ())]:
            assert container["image"].startswith("registry.example.com:5000/mirror/"), name


@each_variant
def test_every_pod_of_milvus_has_somewhere_to_write(variant: dict[str, Any]):
    for name, spec in of_milvus(objects(**variant)).items():
        (container,) = spec["containers"]
        places = [mount["mountPath"] for mount in container["volumeMounts"]]
        assert "/var/lib/milvus" in places, name
        assert len(places) == len(set(places)), f"{name}: Kubernetes takes a path once"


def test_what_a_pod_copies_to_its_nodes_disk_has_an_end():
    for variant in VARIANTS[:2]:
        for name, spec in of_milvus(objects(**variant)).items():
            (container,) = spec["containers"]
            if name.rpartition("-")[2] in ("standalone", "querynode"):
                assert "ephemeral-storage" in container["resources"]["limits"], name
                assert "LOCAL_STORAGE_SIZE" in environment(spec), "Milvus knows it"


@each_variant
def test_pods_run_on_the_pools_that_are_named(variant: dict[str, Any]):
    for name, spec in pods(objects(pools=("general",), **variant)):
        assert [one["key"] for one in spec["tolerations"]] == ["team"], name
        where = json.dumps([spec.get("affinity"), spec.get("nodeSelector")])
        assert POOL_LABEL in where, name
        assert "general" in where, name
        assert "other" not in where, name


@each_variant
def test_without_pools_a_pod_runs_wherever_there_is_room(variant: dict[str, Any]):
    for name, spec in pods(objects(**variant)):
        assert POOL_LABEL not in json.dumps(spec), name
        assert not spec.get("tolerations"), name


@pytest.mark.parametrize("mode", ["standalone", "cluster"])
def test_what_searches_and_builds_indexes_has_gpus_and_nothing_else_does(mode: str):
    made = of_milvus(objects(mode=mode, pools=("general",), gpu={"pools": ("gpu",), "count": 2}))
    for name, spec in made.items():
        (container,) = spec["containers"]
        devices = [container["resources"][kind].get("nvidia.com/gpu") for kind in ("requests", "limits")]
        has_gpus = name.rpartition("-")[2] in {part.lower() for part in ON_GPUS}
        assert devices == (["2", "2"] if has_gpus else [None, None]), name
        assert ('"gpu"' if has_gpus else '"general"') in json.dumps(spec["affinity"]), name
        assert container["image"] == f"milvusdb/milvus:{VERSION}-gpu", name
        assert spec["nodeSelector"] == {"kubernetes.io/arch": "amd64"}, "there is no such image for others"
        assert ("nvidia.com/gpu" in [one["key"] for one in spec["tolerations"]]) == has_gpus, name


def test_the_version_is_the_charts():
    for _, spec in of_milvus(objects()).items():
        assert spec["containers"][0]["image"] == f"milvusdb/milvus:{VERSION}"
    assert VERSION.removeprefix("v").startswith(f"{CHART.data_version}.")


def nodes_of(spec: dict[str, Any]) -> Any:
    return (spec.get("affinity") or {}).get("nodeAffinity")


@each_variant
def test_what_is_checked_against_pools_is_what_runs(variant: dict[str, Any]):
    """A pod by the chart's name for its values and by that of its object."""
    said = {**variant, "pools": ("general",), "gpu": {"pools": ("gpu",), "count": 1}}
    own = {"queryNode": {"resources": {"requests": {"memory": "9Gi"}}}}
    made = dict(pods(objects(own, **said)))
    for part, spec in pod_specs(settings(**said), POOLS, own).items():
        name = {"mixCoordinator": "mixcoord", "pulsarv3.pulsar_metadata": "pulsarv3-pulsar-init"}.get(part, part)
        name = name.replace(".", "-").replace("bookkeeper", "bookie").replace("autorecovery", "recovery").lower()
        real = made[f"milvus-{name}"]
        for key in ("nodeSelector", "tolerations"):
            assert spec.get(key) == real.get(key), (part, key)
        assert nodes_of(spec) == nodes_of(real), part
        assert spec["containers"][0]["resources"] == real["containers"][0]["resources"], part
    assert len(made) == len(pod_specs(settings(**said), POOLS, own)) + ("message_queue" in variant), "a second Job"


@each_variant
def test_it_is_reached_from_within_the_cluster_only(variant: dict[str, Any]):
    made = objects(**variant)
    assert not [name for kind, name in made if kind == "Ingress"]
    assert {item["spec"].get("type", "ClusterIP") for (kind, _), item in made.items() if kind == "Service"} == {
        "ClusterIP"
    }
    ports = {port["port"] for port in made["Service", "milvus"]["spec"]["ports"]}
    assert ports == {19530, 9091}


@each_variant
def test_prometheus_finds_it(variant: dict[str, Any]):
    assert [kind for kind, _ in objects(**variant)].count("ServiceMonitor") == 1
    assert {"prometheus-operator-crds", "external-secrets"} <= set(CHART.needs)


def test_every_place_of_resources_is_one_of_the_charts_own():
    made = objects(mode="cluster", message_queue="pulsar")
    asked = [
        container["resources"]
        for _, spec in [*pods(made), *pods(objects())]
        for container in [*spec["containers"], *(spec.get("initContainers") or ())]
    ]
    for place in CHART.requests:
        assert value_at(CHART.values, place) in asked, place
    assert CHART.chart not in CRDS_ONLY
