"""What the charts that metrics come from make of their values: Prometheus, its adapter, KEDA."""

import re
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.platform.catalog import CHARTS
from components.platform.namespaces import LEVELS
from components.platform.pool_values import value_at
from components.release import ChartFile, ChartSource, overlaid, read_chart
from localcloud.api_groups import CRDS
from localcloud.cluster.stand_in_charts import StandIn, write_stand_ins
from schema.fields import quantity
from tests.platform.rendering import Objects, rendered

PROMETHEUS, ADAPTER, KEDA = "kube-prometheus-stack", "prometheus-adapter", "keda"
NAMES = (PROMETHEUS, ADAPTER, KEDA)
REGISTRY = "registry.example.com:5000/mirror"
KINDS_OF_RIGHTS = ("Role", "ClusterRole")
BUILT_IN = {"system:auth-delegator", "extension-apiserver-authentication-reader"}
"""Roles of every cluster: to ask the API server who somebody is and what they may do, and to trust whom it trusts."""

each_chart = pytest.mark.parametrize("name", NAMES)


def chart(name: str) -> ChartFile:
    return read_chart(CHARTS[name])


@cache
def objects(name: str, registry: str | None = None, *, is_upgrade: bool = False) -> Objects:
    told = overlaid(chart(name).values, ChartSource(image_registry=registry).images(chart(name)))
    return rendered(chart(name), told, is_upgrade=is_upgrade)


def prometheus() -> dict[str, Any]:
    """The Prometheus that the operator is told to run."""
    (found,) = (item["spec"] for (kind, _), item in objects(PROMETHEUS).items() if kind == "Prometheus")
    return found


def pods(name: str, registry: str | None = None) -> dict[str, dict[str, Any]]:
    made = objects(name, registry)
    return {of: item["spec"]["template"]["spec"] for (kind, of), item in made.items() if kind == "Deployment"}


def containers(name: str, registry: str | None = None) -> Iterator[dict[str, Any]]:
    for pod in pods(name, registry).values():
        yield from pod["containers"]


def rights(made: Objects, kinds: tuple[str, ...] = KINDS_OF_RIGHTS) -> Iterator[tuple[str, str]]:
    """Every right that is given, as verb and thing: (`get`, `apps/deployments`)."""
    for (kind, _), item in made.items():
        for rule in item["rules"] if kind in kinds else ():
            for group in rule["apiGroups"]:
                yield from ((verb, f"{group}/{what}") for verb in rule["verbs"] for what in rule["resources"])


def argument(container: dict[str, Any], name: str) -> str:
    (found,) = (each for each in container["args"] if each.startswith(f"--{name}="))
    return found.partition("=")[2]


def rules() -> dict[str, dict[str, Any]]:
    """The adapter's rules by the metric that they make."""
    return {rule["name"]["as"]: rule for rule in chart(ADAPTER).values["rules"]["custom"]}


def query(metric: str, *names: str) -> str:
    """What the adapter asks Prometheus for some pods of the namespace `gpunet`, as it fills a rule in (0.12)."""
    rule = rules()[metric]
    labels = {about["resource"]: label for label, about in rule["resources"]["overrides"].items()}
    matchers = f'{labels["namespace"]}="gpunet",{labels["pod"]}=~"{"|".join(names)}"'
    filled = {"Series": rule["seriesQuery"].partition("{")[0], "LabelMatchers": matchers, "GroupBy": labels["pod"]}
    return re.sub(r"<<\.(\w+)>>", lambda place: filled[place[1]], rule["metricsQuery"])


@each_chart
@pytest.mark.parametrize("is_upgrade", [False, True], ids=["install", "upgrade"])
def test_no_release_waits_for_a_hook(name: str, is_upgrade: bool):
    made = objects(name, is_upgrade=is_upgrade)
    assert not [key for key, item in made.items() if "helm.sh/hook" in (item["metadata"].get("annotations") or {})]
    assert "Job" not in {kind for kind, _ in made}


@each_chart
def test_all_pods_pass_pod_security_restricted(name: str):
    assert LEVELS[chart(name).namespace] == "restricted"
    for pod in pods(name).values():
        of_pod = pod.get("securityContext") or {}
        for container in pod["containers"]:
            own = container["securityContext"]
            assert own.get("runAsNonRoot", of_pod.get("runAsNonRoot")) is True
            assert own.get("seccompProfile", of_pod.get("seccompProfile")) == {"type": "RuntimeDefault"}
            assert own["allowPrivilegeEscalation"] is False
            assert own["capabilities"] == {"drop": ["ALL"]}
        for volume in pod.get("volumes") or []:
            assert set(volume) - {"name"} <= {"configMap", "emptyDir", "secret"}
        assert not pod.get("hostNetwork")


def test_prometheus_passes_it_too():
    """What is left to say of its containers the operator says itself."""
    security = prometheus()["securityContext"]
    assert security["runAsNonRoot"] is True
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not prometheus()["hostNetwork"]


@each_chart
def test_every_container_says_what_it_needs(name: str):
    for container in containers(name):
        assert set(container["resources"]["requests"]) == {"cpu", "memory"}, container["name"]
        assert "memory" in container["resources"]["limits"], container["name"]


def test_so_do_the_containers_that_the_operator_makes():
    asked = prometheus()["resources"]
    assert (set(asked["requests"]), set(asked["limits"])) == ({"cpu", "memory"}, {"memory"})
    (operator,) = containers(PROMETHEUS)
    for what in ("cpu-request", "memory-request", "memory-limit"):
        assert quantity_of(argument(operator, f"config-reloader-{what}")) > 0, what


def quantity_of(text: str) -> float:
    """A quantity, with millicores among them."""
    return float(text[:-1]) / 1000 if text.endswith("m") else quantity(text)


@each_chart
def test_with_a_registry_every_image_comes_from_there(name: str):
    hosts = {repository.partition("/")[0] for repository in chart(name).images.values()}
    for container in containers(name, REGISTRY):
        assert container["image"].startswith(f"{REGISTRY}/"), container["name"]
        told = [text for text in container["args"] for host in hosts if f"{host}/" in text]
        assert not told, "images that the operator is told"
    for (kind, _), item in objects(name, REGISTRY).items():
        assert kind != "Prometheus" or item["spec"]["image"].startswith(f"{REGISTRY}/prometheus/prometheus:")


def test_prometheus_takes_what_any_namespace_wants_scraped_or_computed():
    spec = prometheus()
    for what in ("serviceMonitor", "podMonitor", "rule", "probe", "scrapeConfig"):
        assert spec[f"{what}Selector"] == {}, "empty takes all, none takes nothing"
        assert spec[f"{what}NamespaceSelector"] == {}
    (operator,) = containers(PROMETHEUS)
    assert not [each for each in operator["args"] if each.startswith(("--namespaces", "--deny-namespaces"))]


def test_it_runs_where_its_operator_looks():
    (operator,) = containers(PROMETHEUS)
    assert argument(operator, "prometheus-instance-namespaces") == chart(PROMETHEUS).namespace


def test_its_history_fits_into_its_volume():
    spec = prometheus()
    room = quantity(spec["storage"]["emptyDir"]["sizeLimit"])
    assert quantity(spec["retentionSize"].removesuffix("B")) <= room * 2 / 3, "there is more in it than blocks"


def test_nothing_runs_but_the_operator_and_one_prometheus():
    assert list(pods(PROMETHEUS)) == ["kube-prometheus-stack-operator"]
    assert prometheus()["replicas"] == 1
    kinds = {kind for kind, _ in objects(PROMETHEUS)}
    assert not kinds & {"ServiceMonitor", "PodMonitor", "PrometheusRule", "Alertmanager", "DaemonSet"}
    assert not kinds & {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}


def test_the_operator_writes_no_service_for_kubelets():
    (operator,) = containers(PROMETHEUS)
    assert not [each for each in operator["args"] if each.startswith("--kubelet-service")]
    assert argument(operator, "kubelet-endpoints") == argument(operator, "kubelet-endpointslice") == "false"


def test_prometheus_is_found_where_others_look_for_it():
    service = objects(PROMETHEUS)["Service", "kube-prometheus-stack-prometheus"]
    assert service["metadata"]["namespace"] == "monitoring"
    assert ("http-web", 9090) in {(port["name"], port["port"]) for port in service["spec"]["ports"]}
    (adapter,) = containers(ADAPTER)
    assert argument(adapter, "prometheus-url") == "http://kube-prometheus-stack-prometheus.monitoring.svc:9090"


def test_the_adapter_makes_two_metrics_of_pods():
    assert set(rules()) == {"inference_requests_per_second", "gpu_utilization"}
    for rule in rules().values():
        assert {about["resource"] for about in rule["resources"]["overrides"].values()} == {"namespace", "pod"}
        for label in rule["resources"]["overrides"]:
            assert f'{label}!=""' in rule["seriesQuery"], "what belongs to no pod is none of them"


def test_it_is_told_of_these_and_no_others():
    told = yaml.safe_load(objects(ADAPTER)["ConfigMap", ADAPTER]["data"]["config.yaml"])
    assert told == {"rules": list(rules().values())}


def test_requests_are_counted_over_a_minute_whatever_came_of_them():
    assert query("inference_requests_per_second", "gpunet-1", "gpunet-2") == (
        'sum(rate(inference_requests_total{namespace="gpunet",pod=~"gpunet-1|gpunet-2"}[1m])) by (pod)'
    )


def test_a_gpus_load_is_that_of_the_pod_that_uses_it():
    assert query("gpu_utilization", "gpunet-1", "gpunet-2") == (
        'avg(DCGM_FI_DEV_GPU_UTIL{exported_namespace="gpunet",exported_pod=~"gpunet-1|gpunet-2"}) by (exported_pod)'
    )
    # With the exporter's labels honoured there would be no exported ones.
    values = chart("gpu-operator").values
    assert value_at(values, "dcgmExporter.serviceMonitor.enabled") is True
    assert not value_at(values, "dcgmExporter.serviceMonitor.honorLabels")


def test_each_api_of_metrics_has_one_server():
    apis = {name: [of for kind, of in objects(name) if kind == "APIService"] for name in NAMES}
    assert apis == {
        PROMETHEUS: [],
        ADAPTER: ["v1beta1.custom.metrics.k8s.io"],
        KEDA: ["v1beta1.external.metrics.k8s.io"],
    }


@pytest.mark.parametrize("name", [ADAPTER, KEDA])
def test_the_api_server_trusts_them_by_certificates_of_cert_manager(name: str):
    made = objects(name)
    (api,) = (item for (kind, _), item in made.items() if kind == "APIService")
    namespace, _, certificate = api["metadata"]["annotations"]["cert-manager.io/inject-ca-from"].partition("/")
    assert made["Certificate", certificate]["metadata"]["namespace"] == namespace == chart(name).namespace
    assert "insecureSkipTLSVerify" not in api["spec"]
    service = api["spec"]["service"]
    assert ("Service", service["name"]) in made
    (served,) = (
        item["spec"]
        for (kind, _), item in made.items()
        if kind == "Certificate" and f"{service['name']}.{service['namespace']}.svc" in item["spec"].get("dnsNames", [])
    )
    mounted = [
        volume["secret"]["secretName"] for pod in pods(name).values() for volume in pod["volumes"] if "secret" in volume
    ]
    assert set(mounted) == {served["secretName"]}
    assert "cert-manager" in chart(name).needs


@each_chart
def test_a_chart_brings_crds_where_its_file_says_so(name: str):
    brought = {item["spec"]["group"] for (kind, _), item in objects(name).items() if kind == "CustomResourceDefinition"}
    assert bool(brought) == (chart(name).crds == "templated")
    assert {CRDS[group] for group in brought} <= {name}


def test_prometheus_has_its_crds_from_their_own_chart():
    assert CRDS["monitoring.coreos.com"] in chart(PROMETHEUS).needs


@each_chart
def test_nothing_may_do_everything(name: str):
    given = set(rights(objects(name)))
    assert given
    assert not [(verb, what) for verb, what in given if "*" in verb or "*" in what]


@each_chart
def test_nobody_has_a_way_to_the_rights_of_others(name: str):
    """By a Secret or by a pod of another namespace, or by what stands before the API."""
    everywhere = set(rights(objects(name), ("ClusterRole",)))
    assert not [what for _, what in everywhere if what == "/secrets"]
    changed = {what for verb, what in everywhere if verb not in ("get", "list", "watch")}
    assert not changed & {"/pods", "batch/jobs", "apps/deployments", "apps/statefulsets", "apps/daemonsets"}
    assert not [what for what in changed if what.startswith(("rbac.", "admissionregistration.", "apiregistration."))]


def test_keda_reads_secrets_of_its_own_namespace_and_changes_none():
    made = objects(KEDA)
    roles = [key for key, item in made.items() if "/secrets" in {what for _, what in rights({key: item})}]
    assert [made[role]["metadata"].get("namespace") for role in roles] == ["keda"]
    assert {verb for verb, what in rights(made) if what == "/secrets"} == {"get", "list", "watch"}
    (operator,) = pods(KEDA)["keda-operator"]["containers"]
    assert {"name": "KEDA_RESTRICT_SECRET_ACCESS", "value": "true"} in operator["env"], "else it would ask for all"


def test_keda_needs_no_namespace_of_a_workload_to_be_there_first():
    places = {item["metadata"].get("namespace", "keda") for item in objects(KEDA).values()}
    assert places == {"keda", "kube-system"}
    for container in containers(KEDA):
        assert {"name": "WATCH_NAMESPACE", "value": ""} in container["env"], "all, also those that come later"


def test_keda_scales_deployments_by_autoscalers():
    given = set(rights(objects(KEDA)))
    assert {("update", "apps/deployments/scale"), ("create", "autoscaling/horizontalpodautoscalers")} <= given


def test_the_adapter_lists_pods_and_no_more():
    assert set(rights(objects(ADAPTER))) == {("get", "/pods"), ("list", "/pods")}


@each_chart
def test_rights_are_given_to_accounts_that_pods_run_as(name: str):
    made = objects(name)
    bindings = [item for (kind, _), item in made.items() if kind.endswith("RoleBinding")]
    bound = {(subject["namespace"], subject["name"]) for item in bindings for subject in item["subjects"]}
    accounts = {(item["metadata"]["namespace"], of) for (kind, of), item in made.items() if kind == "ServiceAccount"}
    assert bound <= accounts
    assert {(chart(name).namespace, pod["serviceAccountName"]) for pod in pods(name).values()} <= bound
    roles = {item["roleRef"]["name"] for item in bindings}
    assert roles <= {of for kind, of in made if kind in KINDS_OF_RIGHTS} | BUILT_IN
    if name == PROMETHEUS:
        assert ("monitoring", prometheus()["serviceAccountName"]) in bound


@each_chart
def test_no_pod_has_an_identity_in_aws(name: str):
    assert chart(name).identity is None


def test_a_stand_in_leaves_apis_alone(tmp_path: Path):
    """An API without a server keeps every namespace from going away: the cluster cannot tell what is left in it."""
    releases = [StandIn(one.chart, one.version, one.crds) for one in map(chart, NAMES)]
    for path in write_stand_ins(tmp_path, releases, []).files:
        with tarfile.open(path) as archive:
            files = [file.read() for member in archive if (file := archive.extractfile(member))]
        assert files
        assert not [text for text in files if b"APIService" in text], path.name
