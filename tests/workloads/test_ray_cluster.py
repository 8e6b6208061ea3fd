"""A Ray cluster: what KubeRay is told, where its pods run, what they may do."""

import re
from typing import Any

import pytest

from components.workloads.ray_groups import GROUPS
from tests.platform.pools import stack
from tests.workloads.crds import misfits
from tests.workloads.ray import (
    ALL_GROUPS,
    DEV_POOLS,
    NEURON_IMAGE,
    PROD_POOLS,
    RAY,
    SMALL,
    cluster,
    placed,
    pods_of,
)

ACCOUNT = "kubernetes:core/v1:ServiceAccount"
MONITOR = "kubernetes:monitoring.coreos.com/v1:PodMonitor"
DECLARED = [(ALL_GROUPS, PROD_POOLS), (SMALL, DEV_POOLS)]
both = pytest.mark.parametrize(("declaration", "pools"), DECLARED, ids=["prod", "dev"])


def spec(declaration: dict[str, Any] = ALL_GROUPS, pools: Any = PROD_POOLS, **changes: Any) -> dict[str, Any]:
    return cluster(declaration, pools, **changes).only(RAY).inputs["spec"]


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]


@both
def test_the_resource_fits_its_published_definition(declaration: dict[str, Any], pools: Any):
    assert misfits("RayCluster", spec(declaration, pools, prometheus_url="http://prometheus:9090")) == []


def test_a_resource_with_a_wrong_field_does_not():
    wrong = spec()
    wrong["autoscalerOptions"]["version"] = "v3"
    wrong["headGroupSpec"]["template"]["spec"]["containers"][0]["nodeSelector"] = {}
    assert len(misfits("RayCluster", wrong)) == 2


EXPECTED = {
    "head": ["general"],
    "cpu-workers": ["general"],
    "gpu-a10g-workers": ["gpu-a10g"],
    "gpu-a100-workers": ["gpu-a100"],
    "neuron-workers": ["neuron-trn1"],
}


@pytest.mark.parametrize("who", EXPECTED)
def test_each_pod_of_every_known_group_runs_on_the_pool_it_names_in_prod_and_on_no_other(who: str):
    everything = stack("prod").node_pools
    place = placed(pods_of(spec())[who], everything)
    assert list(place.fitting) == EXPECTED[who], place.refused


@pytest.mark.parametrize(("who", "pool"), [("head", "general"), ("cpu-workers", "general"), ("gpu", "gpu")])
def test_each_pod_of_a_small_cluster_runs_on_small_pools_whatever_their_taints(who: str, pool: str):
    place = placed(pods_of(spec(SMALL, DEV_POOLS))[who], DEV_POOLS)
    assert list(place.fitting) == [pool], place.refused


def test_known_groups_have_the_numbers_that_their_names_stand_for():
    numbers = {g["groupName"]: (g["replicas"], g["minReplicas"], g["maxReplicas"]) for g in spec()["workerGroupSpecs"]}
    assert numbers == {
        "cpu-workers": (2, 1, 10),
        "gpu-a10g-workers": (2, 0, 8),
        "gpu-a100-workers": (0, 0, 4),
        "neuron-workers": (0, 0, 4),
    }
    assert numbers.keys() == GROUPS.keys(), "a group is missing here"


def resources(who: str) -> dict[str, Any]:
    return pods_of(spec())[who]["spec"]["containers"][0]["resources"]


def test_a_head_runs_no_tasks():
    assert spec()["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"


def test_devices_are_asked_for_whole_with_request_and_limit_alike():
    for who, resource, amount in (
        ("gpu-a10g-workers", "nvidia.com/gpu", "1"),
        ("gpu-a100-workers", "nvidia.com/gpu", "8"),
        ("neuron-workers", "aws.amazon.com/neuroncore", "32"),
    ):
        asked = resources(who)
        assert asked["requests"][resource] == asked["limits"][resource] == amount, who
    assert set(resources("cpu-workers")["requests"]) == {"cpu", "memory"}


def test_neuron_workers_ask_for_cores_because_kuberay_tells_ray_of_nothing_else():
    assert "aws.amazon.com/neuron" not in resources("neuron-workers")["limits"]


def test_a_stack_changes_what_it_names_and_no_more():
    group = {"pools": ["general"], "requests": {"memory": "24Gi"}, "max": 20}
    changed = spec({"head": {"pools": ["general"]}, "groups": {"cpu-workers": group}})
    (workers,) = changed["workerGroupSpecs"]
    assert (workers["minReplicas"], workers["maxReplicas"]) == (1, 20)
    asked = workers["template"]["spec"]["containers"][0]["resources"]
    assert asked["requests"] == {"cpu": "4", "memory": "24Gi"}
    assert asked["limits"] == {"cpu": "8", "memory": "32Gi"}


def test_head_and_workers_have_the_ray_that_the_resource_names():
    given = spec()
    images = [pod["spec"]["containers"][0]["image"] for pod in pods_of(given).values()]
    assert all(re.search(rf":{re.escape(given['rayVersion'])}-py312(-|$)", image) for image in images), images


def test_gpu_workers_have_cuda_and_neuron_workers_an_image_of_their_own():
    images = {who: pod["spec"]["containers"][0]["image"] for who, pod in pods_of(spec()).items()}
    assert images["head"] == images["cpu-workers"] == "docker.io/rayproject/ray:2.53.0-py312"
    assert images["gpu-a10g-workers"] == images["gpu-a100-workers"] == "docker.io/rayproject/ray:2.53.0-py312-gpu"
    assert images["neuron-workers"] == NEURON_IMAGE


def test_images_for_arm_have_their_own_tag_and_run_on_arm_only():
    arm = spec({**SMALL, "architecture": "arm64"}, DEV_POOLS)
    head = pods_of(arm)["head"]["spec"]
    assert head["containers"][0]["image"].endswith("-aarch64")
    assert head["nodeSelector"] == {"kubernetes.io/arch": "arm64"}
    assert not placed(pods_of(arm)["head"], DEV_POOLS).fitting, "the pools are amd64"


def test_with_a_registry_rays_images_come_from_there_and_own_ones_from_where_they_are():
    pods = pods_of(spec(image_registry="registry.example.com:5000/mirror"))
    images = {who: pod["spec"]["containers"][0]["image"] for who, pod in pods.items()}
    assert images["head"] == "registry.example.com:5000/mirror/rayproject/ray:2.53.0-py312"
    assert images["neuron-workers"] == NEURON_IMAGE


def test_a_head_is_never_on_a_node_that_aws_may_take_back():
    spot = {"general": DEV_POOLS["general"].model_copy(update={"capacity_types": ("spot",)})}
    pods = pods_of(spec({"head": SMALL["head"]}, spot))
    assert "karpenter.sh/capacity-type" in placed(pods["head"], spot).refused["general"]
    workers = pods_of(spec({**SMALL, "groups": {"cpu-workers": SMALL["groups"]["cpu-workers"]}}, spot))["cpu-workers"]
    assert placed(workers, spot).fitting == ("general",), "workers may"


@both
def test_no_container_has_privileges_or_runs_as_root(declaration: dict[str, Any], pools: Any):
    for who, pod in pods_of(spec(declaration, pools)).items():
        assert pod["spec"]["securityContext"]["runAsUser"] == 1000, who
        for container in containers(pod):
            security = container["securityContext"]
            assert security["runAsNonRoot"] is True, who
            assert security["allowPrivilegeEscalation"] is False, who
            assert security["capabilities"] == {"drop": ["ALL"]}, who
            assert security["seccompProfile"] == {"type": "RuntimeDefault"}, who


@both
def test_every_container_asks_for_cpu_and_memory_and_stops_at_some_memory(declaration: dict[str, Any], pools: Any):
    for who, pod in pods_of(spec(declaration, pools)).items():
        for container in containers(pod):
            assert {"cpu", "memory"} <= set(container["resources"]["requests"]), who
            assert "memory" in container["resources"]["limits"], who


def test_who_comes_to_the_cluster_bears_a_token():
    assert spec()["authOptions"] == {"mode": "token"}


def test_only_the_autoscaler_can_change_the_cluster():
    built = cluster()
    accounts = {account.inputs["metadata"]["name"]: account.inputs for account in built.all(ACCOUNT)}
    given = built.only(RAY).inputs["spec"]
    used = {who: pod["spec"]["serviceAccountName"] for who, pod in pods_of(given).items()}
    assert used.pop("head") == "ml-cluster"
    assert set(used.values()) == {"ml-cluster-workers"}
    assert accounts.keys() == {"ml-cluster", "ml-cluster-workers"}
    assert not any(account["automountServiceAccountToken"] for account in accounts.values())
    for who, pod in pods_of(given).items():
        assert pod["spec"]["automountServiceAccountToken"] is False
        readers = [c["name"] for c in containers(pod) for mount in c.get("volumeMounts", []) if _is_token(pod, mount)]
        assert readers == (["autoscaler"] if who == "head" else []), who


def _is_token(pod: dict[str, Any], mount: dict[str, Any]) -> bool:
    (volume,) = (volume for volume in pod["spec"]["volumes"] if volume["name"] == mount["name"])
    return any("serviceAccountToken" in source for source in volume.get("projected", {}).get("sources", []))


def test_the_service_accounts_come_before_the_cluster_because_kuberay_does_not_make_those_that_pods_name():
    built = cluster()
    wanted = {account.urn for account in built.all(ACCOUNT)}
    assert wanted <= set(built.only(RAY).dependencies)


def test_nothing_of_a_cluster_may_do_anything_in_aws():
    assert not [resource.type for resource in cluster().resources if resource.type.startswith("aws:")]


def test_no_pod_is_moved_to_save_cost():
    for who, pod in pods_of(spec()).items():
        assert pod["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"] == "true", who


def test_workers_end_their_tasks_within_the_two_minutes_of_a_spot_instance():
    for who, pod in pods_of(spec()).items():
        if who != "head":
            assert pod["spec"]["terminationGracePeriodSeconds"] < 120
            assert "ray stop" in pod["spec"]["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][-1]


def test_the_autoscaler_is_of_version_two_and_waits_before_it_lets_workers_go():
    options = spec({**SMALL, "idleTimeoutSeconds": 900}, DEV_POOLS)["autoscalerOptions"]
    assert (options["version"], options["idleTimeoutSeconds"]) == ("v2", 900)


def test_restarts_are_left_to_kuberay_which_refuses_others_with_this_autoscaler():
    assert not [who for who, pod in pods_of(spec()).items() if "restartPolicy" in pod["spec"]]


def test_all_pods_share_data_where_there_is_some():
    for who, pod in pods_of(spec(data_claim="ray-shared-data")).items():
        (volume,) = (v for v in pod["spec"]["volumes"] if "persistentVolumeClaim" in v)
        assert volume["persistentVolumeClaim"]["claimName"] == "ray-shared-data", who
        mounts = {mount["name"]: mount["mountPath"] for mount in pod["spec"]["containers"][0]["volumeMounts"]}
        assert mounts[volume["name"]] == "/data", who
    for pod in pods_of(spec(data_claim=None)).values():
        assert not [v for v in pod["spec"]["volumes"] if "persistentVolumeClaim" in v]


def test_sessions_are_written_to_a_volume_that_kuberay_knows_by_its_name():
    for pod in pods_of(spec()).values():
        mounts = {mount["mountPath"]: mount["name"] for mount in pod["spec"]["containers"][0]["volumeMounts"]}
        assert mounts["/tmp/ray"] == "ray-logs", "under another name KubeRay would give the autoscaler a second one"


def environment(**changes: Any) -> dict[str, str]:
    head = spec(**changes)["headGroupSpec"]["template"]["spec"]["containers"][0]
    return {variable["name"]: variable["value"] for variable in head.get("env", [])}


def test_the_dashboard_knows_of_metrics_and_graphs_that_there_are():
    prometheus = "http://kube-prometheus-stack-prometheus.monitoring:9090"
    grafana = "http://kube-prometheus-stack-grafana.monitoring"
    given = environment(
        prometheus_url=prometheus, grafana_url=grafana, grafana_browser_url="https://grafana.example.com"
    )
    assert given == {
        "RAY_PROMETHEUS_HOST": prometheus,
        "RAY_GRAFANA_HOST": grafana,
        "RAY_GRAFANA_IFRAME_HOST": "https://grafana.example.com",
    }
    assert environment(prometheus_url=prometheus) == {"RAY_PROMETHEUS_HOST": prometheus}
    assert environment() == {}


def test_what_is_scraped_are_ports_that_the_pods_have():
    built = cluster()
    pods = pods_of(built.only(RAY).inputs["spec"])
    for monitor in built.all(MONITOR):
        assert misfits("PodMonitor", monitor.inputs["spec"]) == []
        labels = monitor.inputs["spec"]["selector"]["matchLabels"]
        assert labels["ray.io/cluster"] == "ml-cluster"
        scraped = {endpoint["port"] for endpoint in monitor.inputs["spec"]["podMetricsEndpoints"]}
        who = [pod for name, pod in pods.items() if (name == "head") == (labels["ray.io/node-type"] == "head")]
        for pod in who:
            assert scraped <= {port["name"] for port in pod["spec"]["containers"][0]["ports"]}
    assert {m.inputs["spec"]["selector"]["matchLabels"]["ray.io/node-type"] for m in built.all(MONITOR)} == {
        "head",
        "worker",
    }


def test_a_cluster_that_does_not_know_monitors_gets_none():
    assert not cluster(is_monitored=False).all(MONITOR)


def test_up_does_not_wait_for_workers_and_wins_over_the_numbers_that_the_autoscaler_wrote():
    assert cluster().only(RAY).inputs["metadata"]["annotations"] == {
        "pulumi.com/skipAwait": "true",
        "pulumi.com/patchForce": "true",
    }


def test_a_change_reaches_pods_that_run():
    assert spec()["upgradeStrategy"] == {"type": "Recreate"}
