"""What Langfuse needs beside its chart, and what the chart makes of what it is told."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

import pulumi
import pytest

from components.domain import Domain
from components.langfuse import (
    ACCOUNT,
    ADMIN_PASSWORD,
    NAMESPACE,
    POSTGRES_PASSWORD,
    PUBLIC_KEY,
    REDIS_PASSWORD,
    SECRET_KEY,
    Endpoint,
    LangfuseSettings,
    LangfuseStores,
    claims,
)
from components.platform import clickhouse
from components.platform.catalog import CHARTS
from components.platform.langfuse import (
    APP,
    ORGANISATION,
    POSTGRES_SECRET,
    PREFIXES,
    PROJECT,
    REDIS_SECRET,
    SECRET,
    SIGN_IN_SECRET,
    Langfuse,
    LangfuseArgs,
    pod_specs,
)
from components.platform.namespaces import LEVELS
from components.pools import POOL_LABEL, Pool
from components.release import ChartSource, overlaid, read_chart
from components.sign_in import CLIENT_ID, CLIENT_SECRET, SignIn, SignInClient
from schema.fields import quantity
from tests.platform.rendering import Objects, rendered
from tests.world import Built, run

KEY, BUCKET = "arn:aws:kms:us-west-2:111122223333:key/1", "arn:aws:s3:::traces"
CHART = read_chart(CHARTS["langfuse"])
RANGES = ("10.0.0.0/16",)
TAINT = {"key": "team", "value": "traces", "effect": "NoSchedule"}
POOLS = [Pool(name, None, "al2023", [TAINT], None, "device-plugin", False, ("amd64",)) for name in ("data", "other")]
REGISTRY = "registry.example.com/mirror"
RUNNING = ("Deployment", "StatefulSet", "Job")
STORES = ("bundled", "aws")

each_store = pytest.mark.parametrize("stores", STORES)


def settings(**said: Any) -> LangfuseSettings:
    plain = {
        "stores": "bundled",
        "pools": (),
        "replicas": 1,
        "admin_email": "ana@example.com",
        "database": {
            "instance_class": "db.t4g.medium",
            "storage_gib": 20,
            "max_storage_gib": 100,
            "backup_days": 14,
            "multi_az": False,
        },
        "cache": {"node_type": "cache.t4g.small", "replicas": 0},
        "clickhouse": {"replicas": 1, "storage_gib": 50},
    }
    return cast(LangfuseSettings, plain | said)


def langfuse(
    *, sign_in: bool = False, domain: bool = False, region: str = "us-west-2", registry: str | None = None, **said: Any
) -> Built[Langfuse]:
    def build() -> Langfuse:
        known, aws = pulumi.Output.from_input, said.get("stores") == "aws"
        args = LangfuseArgs(
            **settings(**said),
            cluster_name="eksai-dev",
            region=region,
            key_arn=KEY,
            storage=LangfuseStores(
                known("traces"),
                known(BUCKET),
                known("eksai-dev/langfuse"),
                Endpoint(known("db.example.com"), 5432) if aws else None,
                Endpoint(known("cache.example.com"), 6379) if aws else None,
            ),
            stack_pools=POOLS,
            sign_in=SignIn(
                known("https://issuer.example.com/pool"),
                known("https://login.example.com/authorize"),
                known("https://login.example.com/token"),
                known("https://login.example.com/userinfo"),
                {"langfuse": SignInClient(known("client"), known("eksai-dev/sign-in/langfuse"))},
            )
            if sign_in
            else None,
            domain=Domain("ml.example.com", "Z1", known("arn:certificate"), ("198.51.100.0/24",)) if domain else None,
            node_ranges=RANGES,
            image_registry=registry,
        )
        return Langfuse("langfuse", args)

    return run(build)


def settled(built: Built[Any], value: Any) -> Any:
    """A value with what its Outputs came to."""
    match value:
        case pulumi.Output():
            return built.value(value)
        case dict():
            return {key: settled(built, item) for key, item in value.items()}
        case list():
            return [settled(built, item) for item in value]
        case _:
            return value


def told(**said: Any) -> dict[str, Any]:
    """All that Helm is told."""
    built = langfuse(**said)
    images = ChartSource(image_registry=said.get("registry")).images(CHART)
    return overlaid(overlaid(CHART.values, images), settled(built, built.result.values))


def objects(**said: Any) -> Objects:
    return rendered(CHART, told(**said))


def pods(made: Objects) -> Iterator[tuple[str, dict[str, Any]]]:
    for (kind, name), item in made.items():
        if kind in RUNNING:
            yield name, item["spec"]["template"]["spec"]


def containers(pod: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [*pod.get("initContainers", []), *pod["containers"]]


def environment(made: Objects, name: str = "langfuse-web") -> dict[str, Any]:
    """A pod's variables: their values, or where they come from."""
    (container,) = made["Deployment", name]["spec"]["template"]["spec"]["containers"]
    return {one["name"]: one.get("value", one.get("valueFrom")) for one in container["env"]}


def secret(key: str, name: str = SECRET) -> dict[str, Any]:
    return {"secretKeyRef": {"name": name, "key": key}}


def delivered(built: Built[Any]) -> dict[str, dict[str, str]]:
    """Keys of each Secret, and what they come from."""
    return {
        one.inputs["spec"]["target"]["name"]: {
            item["secretKey"]: item["remoteRef"]["property"] for item in one.inputs["spec"]["data"]
        }
        for one in built.all("kubernetes:external-secrets.io/v1:ExternalSecret")
    }


def policy(built: Built[Langfuse]) -> list[dict[str, Any]]:
    return json.loads(built.only("aws:iam/rolePolicy:RolePolicy").inputs["policy"])["Statement"]


def test_its_pods_reach_their_bucket_and_no_other():
    objects_of, bucket, key = policy(langfuse())
    assert objects_of["Resource"] == f"{BUCKET}/*"
    assert bucket["Resource"] == BUCKET
    assert key["Resource"] == KEY
    assert "s3:ListBucket" in bucket["Action"]


@pytest.mark.parametrize(
    ("region", "service"),
    [("us-west-2", "s3.us-west-2.amazonaws.com"), ("cn-north-1", "s3.cn-north-1.amazonaws.com.cn")],
)
def test_the_key_is_used_through_s3_only(region: str, service: str):
    *_, statement = policy(langfuse(region=region))
    assert statement["Condition"] == {"StringEquals": {"kms:ViaService": service}}


@each_store
def test_the_identity_is_that_of_the_pods_that_store_things(stores: str):
    identity = langfuse(stores=stores).only("aws:eks/podIdentityAssociation:PodIdentityAssociation").inputs
    assert (identity["namespace"], identity["serviceAccount"]) == (NAMESPACE, ACCOUNT)
    made = objects(stores=stores)
    assert ("ServiceAccount", ACCOUNT) in made
    mine = {name for name, pod in pods(made) if pod.get("serviceAccountName") == ACCOUNT}
    assert mine == {"langfuse-web", "langfuse-worker"}


@each_store
def test_s3_takes_the_credentials_of_the_pod(stores: str):
    for name in ("langfuse-web", "langfuse-worker"):
        variables = environment(objects(stores=stores), name)
        assert not [one for one in variables if one.endswith(("ACCESS_KEY_ID", "ENDPOINT"))]
        for use, prefix in (("EVENT_UPLOAD", "events/"), ("BATCH_EXPORT", "exports/"), ("MEDIA_UPLOAD", "media/")):
            assert variables[f"LANGFUSE_S3_{use}_BUCKET"] == "traces"
            assert variables[f"LANGFUSE_S3_{use}_PREFIX"] == prefix
            assert variables[f"LANGFUSE_S3_{use}_REGION"] == "us-west-2"
            assert variables[f"LANGFUSE_S3_{use}_FORCE_PATH_STYLE"] == "false"
    assert len(set(PREFIXES.values())) == len(PREFIXES)


@each_store
@pytest.mark.parametrize("sign_in", [True, False])
def test_every_secret_that_pods_refer_to_is_delivered(stores: str, sign_in: bool):
    there = delivered(langfuse(stores=stores, sign_in=sign_in))
    for name, pod in pods(objects(stores=stores, sign_in=sign_in)):
        for container in containers(pod):
            for variable in container.get("env", []):
                source = variable.get("valueFrom", {}).get("secretKeyRef")
                if source:
                    assert source["key"] in there[source["name"]], f"{variable['name']} of {name}"
        for volume in pod.get("volumes", []):
            if "secret" in volume:
                assert volume["secret"]["secretName"] in there, name


@each_store
def test_no_chart_makes_a_secret_of_its_own(stores: str):
    made = [item for (kind, _), item in objects(stores=stores).items() if kind == "Secret"]
    assert [item for item in made if item.get("data")] == [], "it would be another one with every rendering"


def test_databases_in_the_cluster_know_their_own_password_only():
    assert delivered(langfuse())[POSTGRES_SECRET] == {"POSTGRES_PASSWORD": POSTGRES_PASSWORD}
    assert delivered(langfuse())[REDIS_SECRET] == {"default": REDIS_PASSWORD}
    assert set(delivered(langfuse(stores="aws"))) == {SECRET, clickhouse.SECRET}


def test_postgresql_makes_the_user_and_the_database_that_langfuse_asks_for():
    made = objects()
    (container,) = made["StatefulSet", "langfuse-postgresql"]["spec"]["template"]["spec"]["containers"]
    variables = {one["name"]: one.get("value", one.get("valueFrom")) for one in container["env"]}
    asked = environment(made)
    assert variables["POSTGRES_USER"] == asked["DATABASE_USERNAME"]
    assert variables["POSTGRES_DB"] == asked["DATABASE_NAME"]
    assert variables["POSTGRES_PASSWORD"] == secret("POSTGRES_PASSWORD", POSTGRES_SECRET)
    assert asked["DATABASE_PASSWORD"] == secret(POSTGRES_PASSWORD)
    assert ("Service", asked["DATABASE_HOST"]) in made


def test_databases_in_the_cluster_have_the_volumes_of_the_stack():
    made = objects()
    named = {claim.name for claim in claims(settings())}
    used = {
        volume["persistentVolumeClaim"]["claimName"]
        for _, pod in pods(made)
        for volume in pod.get("volumes", [])
        if "persistentVolumeClaim" in volume
    }
    assert used == {"postgresql", "redis"}
    assert used < named
    assert not [name for kind, name in made if kind == "PersistentVolumeClaim"], "a chart's own would go with it"
    assert "volumeClaimTemplates" not in made["StatefulSet", "langfuse-postgresql"]["spec"]


def test_with_stores_of_aws_only_clickhouse_has_volumes():
    assert {claim.name for claim in claims(settings(stores="aws"))} == {
        "clickhouse-storage-volume-langfuse-clickhouse-0-0-0",
        "clickhouse-storage-volume-langfuse-keeper-0-0",
    }
    assert {name for name, _ in pods(objects(stores="aws"))} == {"langfuse-web", "langfuse-worker"}


def test_every_claim_has_a_name_of_its_own():
    names = [claim.volume for claim in claims(settings(clickhouse={"replicas": 3, "storage_gib": 50}))]
    assert len(names) == len(set(names)) == 8


def test_valkey_loses_nothing_and_gives_its_volume_back_first():
    made = objects()
    deployment = made["Deployment", "langfuse-redis"]
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}, "the next pod may be on another node"
    config = made["ConfigMap", "langfuse-redis-config"]["data"]["valkey.conf"]
    assert "maxmemory-policy noeviction" in config
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert "maxmemory 1gb\n" in config
    assert quantity(container["resources"]["limits"]["memory"]) >= 2 * 1024**3, (
        "twice that, while it writes its log anew"
    )
    assert "appendonly yes" in config
    assert environment(made)["REDIS_CONNECTION_STRING"] == "redis://default:$(REDIS_PASSWORD)@langfuse-redis:6379/0"
    assert ("Service", "langfuse-redis") in made


def test_stores_of_aws_are_reached_over_tls():
    for name in ("langfuse-web", "langfuse-worker"):
        variables = environment(objects(stores="aws"), name)
        assert variables["DATABASE_HOST"] == "db.example.com:5432", "the start script puts it into an address"
        assert variables["DATABASE_ARGS"] == "sslmode=require"
        assert variables["REDIS_CONNECTION_STRING"] == "rediss://:$(REDIS_PASSWORD)@cache.example.com:6379/0"
        assert variables["REDIS_TLS_ENABLED"] == "true"
        assert variables["REDIS_PASSWORD"] == secret(REDIS_PASSWORD)


def test_clickhouse_is_the_one_of_the_component():
    made = objects()
    assert not [kind for kind, _ in made if kind in ("ClickHouseCluster", "KeeperCluster")]
    variables = environment(made)
    assert variables["CLICKHOUSE_URL"] == "http://langfuse-clickhouse-headless:8123"
    assert variables["CLICKHOUSE_MIGRATION_URL"] == "clickhouse://langfuse-clickhouse-headless:9000"
    assert variables["CLICKHOUSE_USER"] == "default"
    assert variables["CLICKHOUSE_PASSWORD"] == secret("clickhouse-password")
    assert variables["CLICKHOUSE_CLUSTER_ENABLED"] == "true", "tables without it would have no copies later"


def test_what_data_is_encrypted_with_comes_from_the_secret():
    for name in ("langfuse-web", "langfuse-worker"):
        variables = environment(objects(), name)
        assert variables["SALT"] == secret("salt")
        assert variables["ENCRYPTION_KEY"] == secret("encryption-key")
        assert variables["NEXTAUTH_SECRET"] == secret("nextauth-secret")


def test_with_a_user_pool_there_is_no_other_way_in_and_who_is_in_it_gets_in():
    variables = environment(objects(sign_in=True))
    assert variables["AUTH_DISABLE_USERNAME_PASSWORD"] == "true"
    assert variables["AUTH_DISABLE_SIGNUP"] == "false", "Langfuse would refuse everybody's first sign-in"
    assert variables["AUTH_COGNITO_CLIENT_ID"] == secret(CLIENT_ID, SIGN_IN_SECRET)
    assert variables["AUTH_COGNITO_CLIENT_SECRET"] == secret(CLIENT_SECRET, SIGN_IN_SECRET)
    assert variables["AUTH_COGNITO_ISSUER"] == "https://issuer.example.com/pool"
    assert variables["AUTH_COGNITO_CHECKS"] == "pkce,state"
    assert variables["AUTH_COGNITO_ALLOW_ACCOUNT_LINKING"] == "true", "the first user is there before its first sign-in"
    assert variables["LANGFUSE_DEFAULT_ORG_ID"] == ORGANISATION
    assert variables["LANGFUSE_DEFAULT_ORG_ROLE"] == "MEMBER"
    assert delivered(langfuse(sign_in=True))[SIGN_IN_SECRET] == {CLIENT_ID: CLIENT_ID, CLIENT_SECRET: CLIENT_SECRET}


def test_without_a_user_pool_nobody_makes_an_account():
    variables = environment(objects())
    assert variables["AUTH_DISABLE_SIGNUP"] == "true"
    assert not [name for name in variables if name.startswith(("AUTH_COGNITO", "LANGFUSE_DEFAULT"))]
    assert SIGN_IN_SECRET not in delivered(langfuse())


@pytest.mark.parametrize("sign_in", [True, False])
def test_it_begins_with_an_owner_an_organisation_a_project_and_its_keys(sign_in: bool):
    variables = environment(objects(sign_in=sign_in))
    assert variables["LANGFUSE_INIT_ORG_ID"] == ORGANISATION
    assert variables["LANGFUSE_INIT_PROJECT_ID"] == PROJECT
    assert variables["LANGFUSE_INIT_PROJECT_PUBLIC_KEY"] == secret(PUBLIC_KEY)
    assert variables["LANGFUSE_INIT_PROJECT_SECRET_KEY"] == secret(SECRET_KEY)
    assert variables["LANGFUSE_INIT_USER_EMAIL"] == "ana@example.com"
    assert variables["LANGFUSE_INIT_USER_PASSWORD"] == secret(ADMIN_PASSWORD)
    assert "LANGFUSE_INIT_ORG_ID" not in environment(objects(sign_in=sign_in), "langfuse-worker")


@pytest.mark.parametrize(
    ("domain", "url"), [(True, "https://langfuse.ml.example.com"), (False, "http://localhost:3000")]
)
def test_people_come_back_to_where_they_came_from(domain: bool, url: str):
    assert environment(objects(domain=domain, sign_in=True))["NEXTAUTH_URL"] == url
    name = "ml.example.com" if domain else None
    assert APP.callback_url(name) == f"{url}/api/auth/callback/cognito"


def test_published_it_is_behind_the_load_balancer_of_all():
    ingress = objects(domain=True, sign_in=True)["Ingress", "langfuse"]
    (rule,) = ingress["spec"]["rules"]
    assert rule["host"] == "langfuse.ml.example.com"
    (path,) = rule["http"]["paths"]
    assert (path["path"], path["pathType"]) == ("/", "Prefix")
    assert path["backend"]["service"] == {"name": APP.service, "port": {"name": "http"}}
    notes = ingress["metadata"]["annotations"]
    assert notes["alb.ingress.kubernetes.io/healthcheck-path"] == "/api/public/health"
    assert ingress["spec"]["ingressClassName"] == "alb"


def test_without_a_domain_nothing_is_published():
    made = objects()
    assert not [name for kind, name in made if kind == "Ingress"]
    assert {item["spec"].get("type", "ClusterIP") for (kind, _), item in made.items() if kind == "Service"} == {
        "ClusterIP"
    }


def test_its_service_is_where_the_platform_looks_for_it():
    (port,) = objects()["Service", APP.service]["spec"]["ports"]
    assert port["port"] == APP.port


@each_store
def test_all_pods_pass_pod_security_restricted(stores: str):
    assert LEVELS[NAMESPACE] == "restricted"
    for name, pod in pods(objects(stores=stores, sign_in=True)):
        of_pod = pod.get("securityContext", {})
        for container in containers(pod):
            own = container.get("securityContext", {})
            where = f"{container['name']} of {name}"
            assert own.get("runAsNonRoot", of_pod.get("runAsNonRoot")) is True, where
            assert own.get("runAsUser", of_pod.get("runAsUser")), where
            assert own.get("seccompProfile", of_pod.get("seccompProfile")) == {"type": "RuntimeDefault"}, where
            assert own["allowPrivilegeEscalation"] is False, where
            assert own["capabilities"] == {"drop": ["ALL"]}, where
        for volume in pod.get("volumes", []):
            assert set(volume) - {"name"} <= {"configMap", "emptyDir", "persistentVolumeClaim", "secret"}, name


@each_store
def test_every_container_says_what_it_needs(stores: str):
    for name, pod in pods(objects(stores=stores)):
        for container in containers(pod):
            resources = container["resources"]
            assert set(resources["requests"]) == {"cpu", "memory"}, f"{container['name']} of {name}"
            assert "memory" in resources["limits"], f"{container['name']} of {name}"


def test_pods_are_told_apart_where_they_spread():
    made = objects()
    for name in ("langfuse-web", "langfuse-worker"):
        template = made["Deployment", name]["spec"]["template"]
        (spread,) = template["spec"]["topologySpreadConstraints"]
        assert spread["labelSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items()


@each_store
def test_pods_run_on_the_pools_of_the_stack(stores: str):
    for name, pod in pods(objects(stores=stores, pools=("data",))):
        (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        assert term["matchExpressions"] == [{"key": POOL_LABEL, "operator": "In", "values": ["data"]}], name
        assert pod["tolerations"][0]["key"] == "team", name
    for name, pod in pods(objects(stores=stores)):
        assert not pod.get("affinity"), name


@each_store
def test_what_is_judged_of_pods_is_what_runs(stores: str):
    judged = pod_specs(settings(stores=stores, pools=("data",)), POOLS, {})
    for name, pod in pods(objects(stores=stores, pools=("data",))):
        own = judged.pop(name.removeprefix("langfuse-"))
        assert own["affinity"] == pod["affinity"]
        assert own["tolerations"] == pod["tolerations"]
        assert own["containers"][0]["resources"] == pod["containers"][0]["resources"]
    assert set(judged) == {"clickhouse", "keeper"}


def test_there_are_as_many_pods_as_the_stack_says():
    made = objects(replicas=3)
    assert {made["Deployment", name]["spec"]["replicas"] for name in ("langfuse-web", "langfuse-worker")} == {3}


@each_store
def test_images_come_from_the_mirror_where_there_is_one(stores: str):
    images = {
        container["image"]
        for _, pod in pods(objects(stores=stores, registry=REGISTRY))
        for container in containers(pod)
    }
    assert all(image.startswith(f"{REGISTRY}/") for image in images), images
    custom = langfuse(registry=REGISTRY).only("kubernetes:clickhouse.com/v1alpha1:KeeperCluster").inputs
    assert custom["spec"]["containerTemplate"]["image"]["repository"].startswith(f"{REGISTRY}/")


def test_a_migration_has_time():
    (container,) = objects()["Deployment", "langfuse-web"]["spec"]["template"]["spec"]["containers"]
    probe = container["livenessProbe"]
    assert probe["initialDelaySeconds"] + probe["failureThreshold"] * probe["periodSeconds"] >= 600


def test_it_tells_nobody_how_it_is_used():
    assert environment(objects())["TELEMETRY_ENABLED"] == "false"


def passes(built: Built[Langfuse], direction: str) -> set[tuple[str, int]]:
    """Who passes the namespace's policy, by a namespace or range, and at which ports."""
    spec = built.only("kubernetes:networking.k8s.io/v1:NetworkPolicy").inputs["spec"]
    side = "from" if direction == "ingress" else "to"
    return {
        (
            peer["ipBlock"]["cidr"]
            if "ipBlock" in peer
            else peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"],
            port["port"],
        )
        for rule in spec[direction]
        for peer in rule[side]
        for port in rule.get("ports", [])
        if "ipBlock" in peer or "namespaceSelector" in peer
    }


def test_those_who_send_traces_reach_the_web_and_no_database():
    senders = ("jupyterhub", "ml-pipelines", "ray-system")
    inward = passes(langfuse(), "ingress")
    assert {(sender, 3000) for sender in senders} <= inward
    assert {port for who, port in inward if who in senders} == {3000}


def test_the_operator_reaches_what_it_asks_and_the_load_balancer_the_web():
    inward = passes(langfuse(domain=True), "ingress")
    assert {("clickhouse-operator", 9001), ("clickhouse-operator", 2181), (RANGES[0], 3000)} <= inward
    assert (RANGES[0], 3000) not in passes(langfuse(), "ingress")


def test_databases_of_aws_are_within_reach_and_only_there():
    assert {(RANGES[0], 5432), (RANGES[0], 6379)} <= passes(langfuse(stores="aws"), "egress")
    assert not {port for _, port in passes(langfuse(), "egress")} & {5432, 6379}
