"""JupyterHub: who gets in, what notebooks are, and what they reach."""

from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

from components.domain import Domain
from components.gpu_sharing import resource_of
from components.platform.catalog import CHARTS
from components.platform.jupyterhub import Jupyterhub
from components.platform.namespaces import ISOLATED
from components.platform.notebook_profiles import PROFILES
from components.platform.storage_classes import StorageClasses
from components.pools import POOL_LABEL
from components.release import overlaid, read_chart
from components.sign_in import SignIn, SignInClient
from components.storage import Storage, VolumeSource
from schema.jupyterhub import Jupyterhub as Section
from tests.platform.pools import PARTED, SLICED, not_tolerated, pool
from tests.platform.test_chart_files import refusal, schema_of
from tests.platform.test_namespaces import openings, policies
from tests.platform.value_schemas import optional
from tests.world import Built, run

CHART = read_chart(CHARTS["jupyterhub"])
HOST = "https://eksai.auth.us-west-2.amazoncognito.com"
PUBLISHED = {"name": "ml.example.com", "zone_id": "Z1", "inbound_cidrs": ["203.0.113.0/24"]}
POOLS = [
    pool("cpu", vendor=None, architectures=("amd64", "arm64")),
    pool("gpu"),
    pool("sliced", sharing=SLICED),
    pool("parted", sharing=PARTED),
]
SMALL = {"cpu-small": {"pools": ["cpu"]}}
NODES, PODS = "192.168.0.0/16", "198.19.0.0/16"


def sign_in() -> SignIn:
    client = SignInClient(pulumi.Output.from_input("client"), pulumi.Output.from_input("eksai-dev/sign-in/jupyterhub"))
    return SignIn(
        issuer=pulumi.Output.from_input("https://issuer"),
        authorize_url=pulumi.Output.from_input(f"{HOST}/oauth2/authorize"),
        token_url=pulumi.Output.from_input(f"{HOST}/oauth2/token"),
        userinfo_url=pulumi.Output.from_input(f"{HOST}/oauth2/userInfo"),
        clients={"jupyterhub": client},
    )


def built(
    profiles: dict[str, Any] = SMALL, *, published: bool = False, registry: str | None = None, **said: Any
) -> Built[Jupyterhub]:
    section = Section.model_validate({"profiles": profiles, **said})
    files = {
        what: VolumeSource("efs.csi.aws.com", "1Ti", handle=f"fs-1::{what}")
        for what in ("shared-datasets", "shared-models")
    }

    def make() -> Jupyterhub:
        certificate = pulumi.Output.from_input("certificate")
        return Jupyterhub(
            "jupyterhub",
            {
                **section.model_dump(),
                "pools": POOLS,
                "storage": Storage(files, pulumi.Output.from_input("fs-1"), None),
                "sign_in": sign_in() if section.auth == "cognito" else None,
                "domain": Domain(**PUBLISHED, certificate_arn=certificate) if published else None,
                "node_ranges": [NODES],
                "pod_ranges": [PODS],
                "image_registry": registry,
            },
        )

    return run(make)


def told(profiles: dict[str, Any] = SMALL, **how: Any) -> dict[str, Any]:
    """What Helm is told."""
    hub = built(profiles, **how)
    return overlaid(CHART.values, hub.value(hub.result.values))


def pod_of(profile: str, **said: Any) -> dict[str, Any]:
    (entry,) = told({profile: said})["singleuser"]["profileList"]
    return entry["kubespawner_override"]


# Who gets in


def test_whoever_installs_the_chart_file_alone_lets_in_nobody():
    assert CHART.values["hub"]["config"]["JupyterHub"]["authenticator_class"] == "null", "the chart's own is dummy"


def test_members_of_the_groups_get_in():
    config = told()["hub"]["config"]
    assert config["JupyterHub"]["authenticator_class"] == "generic-oauth"
    entry = config["GenericOAuthenticator"]
    assert entry["allowed_groups"] == ["ml-engineers", "platform-admins"]
    assert entry["manage_groups"] is True, "without it oauthenticator reads no groups"
    assert entry["auth_state_groups_key"] == "oauth_user.cognito:groups"
    assert entry["userdata_from_id_token"] is True, "the user-info endpoint tells no groups"
    assert "userdata_url" not in entry, "oauthenticator refuses both"
    assert not {"allow_all", "allow_existing_users", "allowed_users"} & entry.keys(), "groups alone decide"
    assert entry["enable_pkce"] is True


def test_administrators_run_the_hub_but_open_no_notebook_of_others():
    hub = told()["hub"]
    (role,) = hub["loadRoles"].values()
    assert role["groups"] == ["platform-admins"]
    assert {"admin-ui", "list:users", "delete:users", "servers"} <= set(role["scopes"])
    opening = {
        *("access:servers", "shares", "tokens", "read:tokens"),
        *("admin:users", "users", "admin:auth_state", "admin:groups", "groups"),
    }
    assert not opening & set(role["scopes"]), (
        "any of these leads into a notebook, at once or by way of a group or token"
    )
    assert "admin" not in hub["loadRoles"], "JupyterHub lays what is said of its own role over all that the role may do"
    assert "admin_groups" not in hub["config"]["GenericOAuthenticator"], "its members get JupyterHub's own role"
    assert "Authenticator" not in hub["config"]


@pytest.mark.parametrize(
    ("published", "where"), [(False, "http://localhost:8000"), (True, "https://jupyter.ml.example.com")]
)
def test_people_come_back_to_where_the_hub_is(published: bool, where: str):
    entry = told(published=published)["hub"]["config"]["GenericOAuthenticator"]
    assert entry["oauth_callback_url"] == f"{where}/hub/oauth_callback"
    assert entry["logout_redirect_url"].startswith(f"{HOST}/logout?client_id=client&logout_uri=http")
    assert entry["logout_redirect_url"].endswith(where.replace(":", "%3A").replace("/", "%2F"))


def test_the_clients_secret_is_delivered_and_in_no_value():
    hub = built()
    delivered = hub.only("kubernetes:external-secrets.io/v1:ExternalSecret").inputs
    reference = told()["hub"]["extraEnv"]["OAUTH_CLIENT_SECRET"]["valueFrom"]["secretKeyRef"]
    assert reference["name"] == delivered["metadata"]["name"] == delivered["spec"]["target"]["name"]
    assert delivered["metadata"]["namespace"] == CHART.namespace
    assert reference["key"] in [item["secretKey"] for item in delivered["spec"]["data"]]
    assert "client_secret" not in told()["hub"]["config"]["GenericOAuthenticator"]


def test_dummy_knows_nothing_of_the_user_pool():
    hub = built(auth="dummy")
    assert hub.all("kubernetes:external-secrets.io/v1:ExternalSecret") == []
    values = told(auth="dummy")["hub"]
    assert values["config"]["JupyterHub"]["authenticator_class"] == "dummy"
    assert values["config"]["DummyAuthenticator"] == {"allow_all": True}, "JupyterHub 5 lets in nobody unasked"
    assert "extraEnv" not in values
    assert "loadRoles" not in values, "anybody could take an administrator's name"
    assert "GenericOAuthenticator" not in values["config"]


def test_without_a_domain_nothing_leads_to_the_hub_from_outside():
    values = told()
    assert values["proxy"]["service"]["type"] == "ClusterIP", "the chart's own is a load balancer"
    assert "ingress" not in values
    assert values["proxy"]["chp"]["networkPolicy"]["allowedIngressPorts"] == []
    assert "ingress" not in values["proxy"]["chp"]["networkPolicy"]


def test_with_a_domain_the_load_balancer_reaches_the_proxy():
    values = told(published=True)
    ingress = values["ingress"]
    assert (ingress["ingressClassName"], ingress["hosts"]) == ("alb", ["jupyter.ml.example.com"])
    assert ingress["annotations"]["alb.ingress.kubernetes.io/healthcheck-path"] == "/_chp_healthz"
    (rule,) = values["proxy"]["chp"]["networkPolicy"]["ingress"]
    assert [source["ipBlock"]["cidr"] for source in rule["from"]] == [NODES], "it has no address of pods"
    assert rule["ports"] == [{"protocol": "TCP", "port": 8000}], "EKS looks up no named port of an address range"


# Notebooks


def test_the_sources_profiles_are_there_with_their_sizes():
    sizes = {name: (p.cpu_guarantee, p.cpu_limit, p.memory_guarantee, p.memory_limit) for name, p in PROFILES.items()}
    assert sizes == {
        "cpu-small": (1, 2, "2Gi", "4Gi"),
        "cpu-large": (4, 8, "16Gi", "32Gi"),
        "gpu-t4": (2, 4, "8Gi", "16Gi"),
        "gpu-a10g": (4, 8, "32Gi", "64Gi"),
        "gpu-a100": (8, 16, "64Gi", "128Gi"),
    }
    devices = {name: (p.accelerator, p.accelerators) for name, p in PROFILES.items() if p.accelerators}
    assert devices == {"gpu-t4": ("t4", 1), "gpu-a10g": ("a10g", 1), "gpu-a100": ("a100", 1)}


def test_people_read_what_they_get():
    listed = told({"cpu-small": {"pools": ["cpu"]}, "gpu-a10g": {"pools": ["gpu"], "cpuLimit": 4}})
    names = [entry["display_name"] for entry in listed["singleuser"]["profileList"]]
    assert names == ["CPU - Small (2 CPU, 4GB RAM)", "GPU - A10G (4 CPU, 64GB RAM, 1x A10G)"]


def test_a_notebook_runs_on_its_pools_and_tolerates_them():
    pod = pod_of("gpu-a10g", pools=["gpu"])
    (term,) = pod["node_affinity_required"]
    wanted = {requirement["key"]: requirement["values"] for requirement in term["matchExpressions"]}
    assert wanted == {POOL_LABEL: ["gpu"], "kubernetes.io/arch": ["amd64", "arm64"]}
    assert not_tolerated(POOLS[1].taints, pod["tolerations"]) == []


@pytest.mark.parametrize("which", [1, 2, 3], ids=["whole", "sliced", "parted"])
def test_a_notebook_asks_for_the_device_that_its_pool_announces(which: int):
    pod = pod_of("gpu-a10g", pools=[POOLS[which].name])
    assert pod["extra_resource_limits"] == {resource_of(POOLS[which].sharing): "1"}


def test_a_notebook_without_accelerators_asks_for_none():
    assert pod_of("cpu-small", pools=["cpu"])["extra_resource_limits"] == {}


def test_sizes_are_in_jupyterhubs_words():
    pod = pod_of("cpu-small", pools=["cpu"], memoryGuarantee="512Mi", cpuGuarantee=0.5)
    assert (pod["mem_guarantee"], pod["mem_limit"]) == ("512M", "4G"), "its G is 1024^3"
    assert (pod["cpu_guarantee"], pod["cpu_limit"]) == (0.5, 2)


def test_a_profile_of_a_stacks_own_is_what_the_stack_says():
    said = {
        "pools": ["gpu"],
        "displayName": "Two GPUs",
        "cpuLimit": 16,
        "cpuGuarantee": 8,
        "memoryLimit": "96Gi",
        "memoryGuarantee": "64Gi",
        "image": "registry.example.com/notebook:1.2.3",
        "accelerator": "a10g",
        "accelerators": 2,
    }
    (entry,) = told({"mine": said}, registry="mirror.example.com")["singleuser"]["profileList"]
    assert (entry["slug"], entry["display_name"]) == ("mine", "Two GPUs")
    pod = entry["kubespawner_override"]
    assert pod["image"] == said["image"], "only what is published has a copy in the mirror"
    assert pod["extra_resource_limits"] == {"nvidia.com/gpu": "2"}
    arch = pod["node_affinity_required"][0]["matchExpressions"][1]
    assert arch["values"] == ["amd64"], "an image of which nothing is said is for amd64"


def test_images_are_pinned_and_come_from_the_mirror_where_there_is_one():
    for name, own in PROFILES.items():
        assert own.image.startswith("quay.io/jupyter/")
        assert "latest" not in own.image
        (entry,) = told({name: {"pools": ["cpu"]}}, registry="mirror.example.com/x")["singleuser"]["profileList"]
        assert entry["kubespawner_override"]["image"] == f"mirror.example.com/x{own.image.removeprefix('quay.io')}"


def test_what_pod_security_calls_restricted_holds_for_notebooks():
    spawner = CHART.values["hub"]["config"]["KubeSpawner"]
    assert spawner["pod_security_context"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert spawner["container_security_context"] == {"capabilities": {"drop": ["ALL"]}}
    assert CHART.values["singleuser"]["cloudMetadata"] == {"blockWithIptables": False}, "it is a privileged container"


def test_idle_notebooks_end_and_homes_stay():
    values = told(cullAfter="1h30m")
    assert values["cull"] == {"enabled": True, "users": False, "timeout": 5400}
    assert values["hub"]["config"]["KubeSpawner"]["delete_pvc"] is False


def test_homes_are_claims_of_the_class_on_efs_that_many_nodes_mount():
    storage = told(homeGib=80)["singleuser"]["storage"]
    assert storage["capacity"] == "80Gi"
    assert storage["dynamic"]["storageAccessModes"] == ["ReadWriteMany"]
    args: Any = {"addons": ["aws-efs-csi-driver"], "key_arn": "key", "efs_id": "fs-1", "lustre": None}
    (made,) = run(lambda: StorageClasses("classes", args)).all("kubernetes:storage.k8s.io/v1:StorageClass")
    assert storage["dynamic"]["storageClass"] == made.inputs["metadata"]["name"]


def test_shared_volumes_are_in_every_home_and_datasets_cannot_be_written():
    hub, storage = built(), told()["singleuser"]["storage"]
    claims = {one.inputs["metadata"]["name"]: one.inputs for one in hub.all("kubernetes:core/v1:PersistentVolumeClaim")}
    assert {volume["persistentVolumeClaim"]["claimName"] for volume in storage["extraVolumes"]} == set(claims)
    assert {claim["metadata"]["namespace"] for claim in claims.values()} == {CHART.namespace}
    assert claims["shared-datasets"]["spec"]["accessModes"] == ["ReadOnlyMany"]
    assert claims["shared-models"]["spec"]["accessModes"] == ["ReadWriteMany"]
    mounts = {mount["name"]: (mount["mountPath"], mount["readOnly"]) for mount in storage["extraVolumeMounts"]}
    assert mounts == {
        "shared-datasets": ("/home/jovyan/datasets", True),
        "shared-models": ("/home/jovyan/models", False),
    }


# What a notebook reaches


def reaches(egress: list[dict[str, Any]], address: str, port: int) -> bool:
    """Whether some rule lets a pod reach an address that is no pod's."""

    def holds(block: dict[str, Any]) -> bool:
        inside = ip_address(address) in ip_network(block["cidr"])
        return inside and not any(ip_address(address) in ip_network(one) for one in block.get("except", []))

    return any(
        any(holds(peer["ipBlock"]) for peer in rule["to"] if "ipBlock" in peer)
        and port in [one["port"] for one in rule.get("ports", [{"port": port}])]
        for rule in egress
    )


@pytest.mark.parametrize(
    ("address", "port", "expected"),
    [
        ("151.101.0.223", 443, True),
        ("140.82.121.3", 22, True),
        ("192.168.10.7", 443, True),
        ("198.19.3.4", 443, False),
        ("192.168.10.7", 22, False),
        ("198.19.3.4", 8888, False),
        ("100.100.0.1", 443, False),
        ("10.1.2.3", 443, False),
        ("172.20.0.1", 443, False),
        ("169.254.169.254", 80, False),
        ("169.254.170.23", 80, True),
    ],
    ids=[
        *(
            "internet",
            "git over ssh",
            "vpc endpoint",
            "what pods of their own range serve by https",
            "node",
            "another notebook",
        ),
        *("a peer's pods", "a peered network", "a service", "metadata", "pod identity"),
    ],
)
def test_a_notebook_reaches_the_internet_and_nothing_private_but_what_it_works_with(
    address: str, port: int, expected: bool
):
    policy = told()["singleuser"]["networkPolicy"]
    assert reaches(policy["egress"], address, port) is expected
    rules = policy["egressAllowRules"]
    assert not any(rules.values()), f"the chart's own rules would add to ours: {rules}"


def test_a_notebook_reaches_ray_and_the_platforms_services():
    open_to = openings(told()["singleuser"]["networkPolicy"]["egress"], "to")
    ray = {("ray-system", 8265), ("ray-system", 10001)}
    assert open_to == ray | {("milvus", 19530), ("langfuse", 3000), ("gpunet", 8080)}


def test_who_is_isolated_lets_notebooks_in_where_they_go():
    ways_out = openings(told()["singleuser"]["networkPolicy"]["egress"], "to")
    let_in = {
        (policy["metadata"]["namespace"], port)
        for policy in policies()
        for namespace, port in openings(policy["spec"]["ingress"], "from")
        if namespace == CHART.namespace
    }
    assert let_in == {one for one in ways_out if one[0] in ISOLATED}


def test_no_rule_is_open_to_all_for_want_of_a_destination():
    for rule in told()["singleuser"]["networkPolicy"]["egress"]:
        assert rule["to"], "Kubernetes reads an empty list as every destination"


def test_the_hub_reaches_kubernetes_and_the_user_pool_but_no_metadata():
    policy = told()["hub"]["networkPolicy"]
    assert reaches(policy["egress"], "172.20.0.1", 443)
    assert reaches(policy["egress"], "52.94.0.1", 443)
    assert not reaches(policy["egress"], "169.254.169.254", 443)
    assert not reaches(policy["egress"], "192.168.10.7", 5432)
    assert not any(policy["egressAllowRules"].values())


# The whole


@pytest.mark.parametrize("auth", ["cognito", "dummy"])
@pytest.mark.parametrize("published", [False, True])
def test_the_chart_knows_every_value(auth: str, published: bool, tmp_path: Path):
    values = told({name: {"pools": ["cpu"]} for name in PROFILES}, auth=auth, published=published)
    _, schema = schema_of(CHARTS["jupyterhub"])
    assert refusal(tmp_path / "judge", optional(schema), values) is None


def test_a_value_that_the_chart_does_not_know_is_found(tmp_path: Path):
    _, schema = schema_of(CHARTS["jupyterhub"])
    assert "culling" in (refusal(tmp_path / "judge", optional(schema), told() | {"culling": {}}) or "")


def test_values_survive_yaml():
    values = told({name: {"pools": ["cpu"]} for name in PROFILES}, published=True)
    assert yaml.safe_load(yaml.safe_dump(values)) == values, "the hub reads them from a YAML document"
