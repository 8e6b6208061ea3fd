"""What a stack is told that switches off a pool which its notebooks, Ray clusters or pipeline run on."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from settings import SettingsError, validate
from tests.platform.pools import ROOT, STACKS

POOLS = "eksai:nodePools"


def config_of(stack: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8"))["config"]


def named(section: Any, key: str, pools: Any) -> Iterator[tuple[str, str]]:
    """Where a part of a stack file lists pools: the key of each entry, and the pool."""
    if isinstance(section, dict):
        for name, part in section.items():
            yield from named(part, f"{key}.{name}", pools)
    if isinstance(section, list):
        yield from (
            (f"{key}[{index}]", entry)
            for index, entry in enumerate(section)
            if isinstance(entry, str) and entry in pools
        )


def places(stack: str) -> dict[str, list[str]]:
    """By pool, the keys of a stack file that name it."""
    found: dict[str, list[str]] = {}
    config = config_of(stack)
    for section, content in config.items():
        if section != POOLS:
            for key, pool in named(content, section, config[POOLS]):
                found.setdefault(pool, []).append(key)
    return found


def refused(stack: str, **changes: Any) -> SettingsError:
    """What a stack is told with other pools than its own; None takes one away."""
    config = config_of(stack)
    kept = {name: pool for name, pool in config[POOLS].items() if changes.get(name, {}) is not None}
    config[POOLS] = {name: {**pool, **changes.get(name, {})} for name, pool in kept.items()}
    with pytest.raises(SettingsError) as refusal:
        validate({key: json.dumps(value) for key, value in config.items()}, stack=stack, local=True)
    return refusal.value


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("section", ["eksai:jupyterhub", "eksai:rayClusters", "eksai:mlPipeline"])
def test_every_kind_of_workload_names_pools(stack: str, section: str):
    assert any(key.startswith(f"{section}.") for keys in places(stack).values() for key in keys)


@pytest.mark.parametrize("change", [None, {"retire": True}], ids=["removed", "retired"])
@pytest.mark.parametrize(("stack", "pool"), [(stack, pool) for stack in STACKS for pool in places(stack)])
def test_a_pool_that_workloads_run_on_cannot_be_switched_off(stack: str, pool: str, change: Any):
    error = refused(stack, **{pool: change})
    told = {problem.key: problem for problem in error.problems}
    for key in places(stack)[pool]:
        assert key in told, f"{key} names a pool that is no more, and nobody says so:\n{error}"
        assert pool in (told[key].given, *told[key].rule.split()), "the message says which pool it is"
    assert told.keys() == set(places(stack)[pool]), "nothing else is wrong with the stack"
