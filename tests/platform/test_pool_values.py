"""What charts are told of a stack's pools."""

import pytest

from components.accelerators import Vendor
from components.compute.instance_types import table
from components.compute.pool_declaration import labels_of
from components.platform.catalog import CHARTS
from components.platform.pool_charts import charts_needed
from components.platform.pool_values import Surroundings, pool_values, value_at
from components.pools import Pool, tolerations
from components.release import overlaid, read_chart
from schema.node_pools import Taint
from tests.compute.pools import managed
from tests.platform.pools import STACKS, every_pool, not_tolerated, pool, stack

ON_NODES = sorted(name for name, path in CHARTS.items() if read_chart(path).tolerations)


def told(name: str, *pools: Pool, version: str = "1.35", region: str = "us-west-2"):
    chart = read_chart(CHARTS[name])
    return overlaid(chart.values, pool_values(name, chart, Surroundings(pools, version, region)))


def kept_away(name: str, pools: list[Pool]) -> list[str]:
    """Pools on which some pods of a chart would never run, by path of the tolerations that lack something."""
    values = told(name, *pools)
    return [
        f"{path}: {some.name}"
        for path in read_chart(CHARTS[name]).tolerations
        for some in pools
        if not_tolerated(some.taints, value_at(values, path))
    ]


@pytest.mark.parametrize("name", STACKS)
@pytest.mark.parametrize("chart", ON_NODES)
def test_no_pool_of_a_stack_keeps_a_daemonset_away(chart: str, name: str):
    assert kept_away(chart, stack(name).pools()) == []


@pytest.mark.parametrize("chart", ON_NODES)
def test_no_pool_of_any_kind_keeps_a_daemonset_away(chart: str):
    assert kept_away(chart, every_pool()) == []
    for some in every_pool():
        assert kept_away(chart, [some]) == []


def test_a_taint_that_nobody_tolerates_is_seen():
    assert not_tolerated(pool().taints, tolerations([])) == ["team"]


def test_taints_that_go_once_a_node_is_ready_are_tolerated_too():
    """Whoever takes them away may wait for the node's devices."""
    given = stack("prod")
    starting = {"example.com/agent-not-ready": Taint()}
    pools = {name: one.model_copy(update={"startup_taints": starting}) for name, one in given.node_pools.items()}
    described = given.model_copy(update={"node_pools": pools}).pools()
    assert all({"example.com/agent-not-ready"} <= {taint["key"] for taint in one.taints} for one in described)


def test_what_a_chart_file_tolerates_stays_tolerated():
    found = value_at(told("neuron-helm-chart", pool()), "devicePlugin.tolerations")
    assert {"key": "CriticalAddonsOnly", "operator": "Exists"} in found


def test_whatever_makes_a_pools_devices_known_to_kubernetes_is_needed():
    needs = {
        "gpu-operator": pool("al2023"),
        "dra-driver-nvidia-gpu": pool("claims", allocation="dra"),
        "neuron-helm-chart": pool("neuron", vendor=Vendor.NEURON),
        "aws-efa-k8s-device-plugin": pool("cpu-efa", vendor=None, efa=True),
    }
    assert charts_needed(needs.values()) == {chart: [some.name] for chart, some in needs.items()}
    assert charts_needed([pool(image_family="bottlerocket"), pool(vendor=None)]) == {}, "the image runs the plug-in"


def test_the_neuron_plug_in_runs_on_neuron_pools_of_either_image():
    needing = [some for some in every_pool() if "neuron-helm-chart" in charts_needed([some])]
    assert {some.image_family for some in needing} == {"al2023", "bottlerocket"}
    assert {some.vendor for some in needing} == {Vendor.NEURON}


def test_the_dra_driver_runs_on_the_nodes_of_dra_pools_and_no_others():
    (term,) = value_at(
        told("dra-driver-nvidia-gpu", pool(allocation="dra")),
        "kubeletPlugin.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
    )
    (wanted,) = term["matchExpressions"]
    labels = labels_of("pool", managed(ami="al2023@latest", allocation="dra"))
    assert labels[wanted["key"]] in wanted["values"]
    assert wanted["key"] not in labels_of("pool", managed(ami="al2023@latest"))


@pytest.mark.parametrize(
    ("region", "registry"),
    [
        ("us-west-2", "602401143452.dkr.ecr.us-west-2.amazonaws.com"),
        ("eu-south-1", "590381155156.dkr.ecr.eu-south-1.amazonaws.com"),
        ("cn-north-1", "918309763551.dkr.ecr.cn-north-1.amazonaws.com.cn"),
        ("us-gov-west-1", "013241004608.dkr.ecr.us-gov-west-1.amazonaws.com"),
    ],
)
def test_the_image_for_efa_comes_from_the_regions_own_registry(region: str, registry: str):
    image = told("aws-efa-k8s-device-plugin", pool(efa=True), region=region)["image"]
    assert image == {"repository": f"{registry}/eks/aws-efa-k8s-device-plugin", "tag": "v0.5.20"}


def test_a_prod_pool_of_every_kind_has_what_it_needs():
    settings = stack("prod")
    assert set(charts_needed(settings.pools())) == {"gpu-operator", "neuron-helm-chart", "aws-efa-k8s-device-plugin"}
    kinds = {table()[one.instance_types[0]].vendor for one in settings.node_pools.values()}
    assert kinds == {None, *Vendor}
