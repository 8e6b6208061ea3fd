"""Values that wait for something else."""

import pulumi_random as random

from components.readiness import once
from localcloud.values import UNKNOWN
from tests.world import run

STRING = "random:index/randomString:RandomString"


def build() -> None:
    first, second = random.RandomString("first", length=8), random.RandomString("second", length=8)
    random.RandomString(
        "waits", length=8, keepers={"plain": once("known", second.id), "made": once(first.id, second.id)}
    )


def test_the_value_is_the_same_and_depends_on_both():
    built = run(build)
    waits = built.named("waits")
    assert waits.inputs["keepers"] == {"plain": "known", "made": built.named("first").id}
    assert {built.named("first").urn, built.named("second").urn} == set(waits.dependencies)


def test_a_known_value_stays_known_in_a_preview():
    built = run(build, preview=True)
    assert built.named("waits").inputs["keepers"]["plain"] == "known"
    assert built.named("waits").inputs["keepers"]["made"] is UNKNOWN, "as its origin is"
    assert built.named("second").urn in built.named("waits").dependencies
