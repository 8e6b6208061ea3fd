"""How large the pods of a Ray cluster are."""

from typing import Any

import pytest

from components.workloads.ray_groups import GROUPS, OTHER, RayGroupSettings, group_size


def group(**changes: Any) -> RayGroupSettings:
    nothing: dict[str, Any] = {"cpu": None, "memory": None}
    return RayGroupSettings(
        **{
            "pools": ["general"],
            **dict.fromkeys(("min", "replicas", "max", "gpus", "neuron_cores", "image")),
            "requests": nothing,
            "limits": nothing,
            **changes,
        }
    )


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_of_which_nothing_is_said_is_as_its_name_says(name: str):
    assert group_size(name, group()) == GROUPS[name]


def test_a_group_with_another_name_begins_with_no_workers():
    assert group_size("tuning", group()) == OTHER
    assert (OTHER.min, OTHER.replicas) == (0, 0)


def test_a_group_begins_within_the_bounds_that_a_stack_sets():
    assert group_size("cpu-workers", group(min=5)).replicas == 5
    assert group_size("cpu-workers", group(max=1)).replicas == 1
    assert group_size("cpu-workers", group(max=1, replicas=3)).replicas == 3, "the settings report what is said"


def test_devices_can_be_said_away():
    assert group_size("gpu-a10g-workers", group(gpus=0)).gpus == 0
