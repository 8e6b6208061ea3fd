"""The GPU Operator's values over every kind of pool."""

from itertools import product
from typing import Any

import pytest
import yaml

from components.accelerators import Vendor
from components.gpu_sharing import config_name, node_labels, plugin_config
from components.platform.catalog import CHARTS
from components.platform.gpu_operator import is_served, operator_values
from components.platform.pool_values import Surroundings, pool_values
from components.release import overlaid, read_chart
from tests.platform.pools import PARTED, SERVED, SLICED, every_pool, pool

CHART = read_chart(CHARTS["gpu-operator"])


def values(*pools: Any) -> dict[str, Any]:
    """What Helm is told."""
    return overlaid(CHART.values, pool_values("gpu-operator", CHART, Surroundings(pools, "1.35", "us-west-2")))


TABLE = [
    # (image family, allocation, sharing, whether the operator runs the plug-in, and the MIG manager)
    ("al2023", "device-plugin", None, True, False),
    ("al2023", "device-plugin", SLICED, True, False),
    ("al2023", "device-plugin", SERVED, True, False),
    ("al2023", "device-plugin", PARTED, True, True),
    ("al2023", "dra", None, False, False),
    ("bottlerocket", "device-plugin", None, False, False),
    ("bottlerocket", "device-plugin", SLICED, False, False),
    ("bottlerocket", "device-plugin", SERVED, False, False),
]


@pytest.mark.parametrize(("family", "allocation", "sharing", "plugin", "mig"), TABLE)
def test_the_plug_in_runs_where_neither_image_nor_dra_hands_gpus_out(family, allocation, sharing, plugin, mig):
    told = values(pool(image_family=family, allocation=allocation, sharing=sharing))
    assert (told["devicePlugin"]["enabled"], told["migManager"]["enabled"]) == (plugin, mig)


@pytest.mark.parametrize(("one", "other"), list(product(TABLE, TABLE)), ids=lambda row: f"{row[0]}-{row[1]}-{row[3]}")
def test_with_two_pools_whatever_one_of_them_needs_runs(one, other):
    pools = [pool(image_family=row[0], allocation=row[1], sharing=row[2]) for row in (one, other)]
    told = values(*pools)
    assert told["devicePlugin"]["enabled"] is (one[3] or other[3])
    assert told["migManager"]["enabled"] is (one[4] or other[4])


def test_neither_driver_nor_toolkit_is_installed_since_every_image_has_them():
    for some in every_pool():
        told = values(some)
        assert (told["driver"], told["toolkit"]) == ({"enabled": False}, {"enabled": False})


def test_each_way_of_sharing_has_the_config_that_its_nodes_label_names():
    config = values(pool(sharing=SLICED), pool(sharing=SERVED), pool(sharing=PARTED))["devicePlugin"]["config"]
    assert config["create"] is True
    for sharing in (SLICED, SERVED, PARTED):
        label = node_labels(sharing)["nvidia.com/device-plugin.config"]
        assert yaml.safe_load(config["data"][label]) == plugin_config(sharing)


def test_nodes_whose_label_names_no_config_do_not_share():
    config = values(pool(sharing=SLICED))["devicePlugin"]["config"]
    assert config["default"] == config_name(None)
    assert yaml.safe_load(config["data"][config["default"]]) == plugin_config(None)


def test_the_plug_in_of_a_bottlerocket_pool_gets_no_config_from_here():
    config = values(pool(), pool(image_family="bottlerocket", sharing=SLICED))["devicePlugin"]["config"]
    assert set(config["data"]) == {config_name(None)}


def test_a_map_of_configs_is_never_empty_where_it_is_made():
    """The chart refuses `create` without `data`."""
    for some in every_pool():
        plugin = values(some)["devicePlugin"]
        assert bool(plugin.get("config", {}).get("data")) is plugin["enabled"]


def test_partitions_have_names_of_their_own():
    """The operator's strategy wins over that of the plug-in's config."""
    assert values(pool(sharing=PARTED))["mig"]["strategy"] == plugin_config(PARTED)["flags"]["migStrategy"] == "mixed"


def test_devices_of_efa_are_not_handed_out_with_gpus():
    assert {"name": "MOFED_ENABLED", "value": "false"} in values(pool())["devicePlugin"]["env"]


def test_the_operators_own_way_to_dra_stays_off():
    told = values(pool(allocation="dra"))
    assert (told["clusterPolicy"]["deployCR"], told["gpuCluster"]["deployCR"]) == (True, False)


def test_pools_of_others_are_no_concern_of_it():
    assert not [some for some in every_pool() if is_served(some) and some.vendor is not Vendor.NVIDIA]
    assert operator_values([pool(vendor=Vendor.NEURON), pool(vendor=None)]) == operator_values([])
