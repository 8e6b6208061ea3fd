"""What nodes with shared GPUs announce, and what their plug-in and labels say."""

import re
from itertools import chain

import pytest

from components.accelerators import ACCELERATORS, Vendor
from components.compute.instance_types import table
from components.gpu_sharing import (
    DRA_LABELS,
    IMPLIED_LABELS,
    MIG_PROFILES,
    NO_PLUGIN_LABELS,
    WHOLE_GPU,
    Sharing,
    config_name,
    node_labels,
    plugin_config,
    profiles_of,
    resource_of,
    shares_of,
)

SLICED = Sharing(strategy="time-slicing", replicas=4, profile=None)
SERVED = Sharing(strategy="mps", replicas=10, profile=None)
PARTED = Sharing(strategy="mig", replicas=None, profile="1g.10gb")
ALL = (SLICED, SERVED, PARTED)
PROFILES = [(gpu, mib, profile) for (gpu, mib), profiles in MIG_PROFILES.items() for profile in profiles]


def test_a_share_never_bears_the_name_of_a_whole_gpu():
    assert resource_of(None) == WHOLE_GPU == "nvidia.com/gpu"
    assert [resource_of(sharing) for sharing in ALL] == [
        "nvidia.com/gpu.shared",
        "nvidia.com/gpu.shared",
        "nvidia.com/mig-1g.10gb",
    ]


def test_the_taint_to_tolerate_is_that_of_whole_gpus_however_they_are_shared():
    assert ACCELERATORS[Vendor.NVIDIA].taint["key"] == WHOLE_GPU


@pytest.mark.parametrize(
    ("gpu", "memory_mib", "sharing", "shares"),
    [
        ("t4", 16384, SLICED, 4),
        ("a10g", 22888, SERVED, 10),
        ("a100", 40960, PARTED, 4),
        ("a100", 81920, PARTED, 7),
        ("h100", 81920, PARTED, 7),
        ("h200", 144384, PARTED | {"profile": "3g.71gb"}, 2),
    ],
)
def test_a_gpu_has_as_many_shares_as_it_is_told_or_has_partitions(
    gpu: str, memory_mib: int, sharing: Sharing, shares: int
):
    assert shares_of(sharing, gpu, memory_mib) == shares


@pytest.mark.parametrize(("gpu", "memory_mib", "profile"), PROFILES)
def test_partitions_fit_into_their_gpu(gpu: str, memory_mib: int, profile: str):
    processors, memory_gb = map(int, re.fullmatch(r"(\d)g\.(\d+)gb", profile).groups())  # type: ignore[union-attr]
    count = MIG_PROFILES[gpu, memory_mib][profile]
    eighths = round(8 * memory_gb / (memory_mib / 1024))
    assert count * processors <= 7
    assert count * eighths <= 8
    assert count == min(7 // processors, 8 // eighths), "as many as there is room for"


def test_every_gpu_that_can_be_partitioned_is_told_by_name_and_memory_of_the_table():
    known = {(row.accelerator, row.accelerator_memory_mib) for row in table().values() if row.vendor is Vendor.NVIDIA}
    partitioned = {gpu for gpu, _ in known & MIG_PROFILES.keys()}
    assert partitioned == {"a100", "h100", "h200"}
    assert {gpu for gpu, mib in known if not profiles_of(gpu, mib)} == {"t4", "a10g", "l4", "l40s"}


def test_shares_are_renamed_and_one_pod_gets_one_of_them():
    assert plugin_config(SLICED) == {
        "version": "v1",
        "flags": {"migStrategy": "none"},
        "sharing": {
            "timeSlicing": {
                "renameByDefault": True,
                "failRequestsGreaterThanOne": True,
                "resources": [{"name": "nvidia.com/gpu", "replicas": 4}],
            }
        },
    }
    assert set(plugin_config(SERVED)["sharing"]) == {"mps"}


def test_partitions_are_announced_by_profile_and_nothing_shares_them_further():
    assert plugin_config(PARTED) == {"version": "v1", "flags": {"migStrategy": "mixed"}}


def test_a_plugin_without_shares_has_a_config_too_since_others_are_chosen_by_label():
    assert (config_name(None), plugin_config(None)) == ("unshared", {"version": "v1", "flags": {"migStrategy": "none"}})


def test_configs_of_the_same_name_are_the_same():
    other = PARTED | {"profile": "3g.40gb"}
    assert config_name(PARTED) == config_name(other)
    assert plugin_config(PARTED) == plugin_config(other)
    names = [config_name(sharing) for sharing in (None, *ALL)]
    assert len(set(names)) == 4
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name) for name in names), (
        "a key of a ConfigMap, and a label's value"
    )


def test_the_label_of_a_node_names_its_config():
    assert node_labels(SLICED) == {
        "nvidia.com/device-plugin.config": "time-slicing-4",
        "nvidia.com/gpu.sharing-strategy": "time-slicing",
        "nvidia.com/gpu.replicas": "4",
    }
    assert node_labels(PARTED) == {
        "nvidia.com/device-plugin.config": "mig",
        "nvidia.com/mig.config": "all-1g.10gb",
    }


def test_dra_and_the_device_plugin_never_serve_the_same_node():
    assert NO_PLUGIN_LABELS.items() <= DRA_LABELS.items()


def test_whatever_follows_from_sharing_is_no_label_of_a_pools_own():
    assert set(chain(*(node_labels(sharing) for sharing in ALL), DRA_LABELS)) == IMPLIED_LABELS
