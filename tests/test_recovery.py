"""Runs killed at a random moment: the next `up` converges, and `destroy` leaves nothing.

The moment follows from a seed, which a failure names: `EKSAI_KILL_SEED=<seed>` plays it again.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from automation.engine import Engine, find_engine, find_kubernetes
from automation.errors import EngineError
from automation.local import LocalCloud
from automation.orphans import processes_of
from automation.stacks import open_local
from tools.scratch import ROOT, scratch_project

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(1800)]

RESOURCES = 135
"""Not quite as many things are in the account when `dev` is up."""
LAST_IN_ACCOUNT = 125

PATIENCE_S = 500
"""Seconds within which every run ends, on the slowest machine; Helm alone gives up after 600."""

Kill = Callable[[psutil.Popen], None]


@pytest.fixture
def engine() -> Engine:
    try:
        return find_engine()
    except EngineError as error:
        pytest.skip(str(error).splitlines()[0])


@pytest.fixture
def cloud(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[LocalCloud]:
    """The local cloud of a project of one's own, in which nothing runs any more afterwards, whatever a test finds."""
    try:
        cloud = LocalCloud(scratch_project(tmp_path), "dev", kubernetes=request.param)
        if cloud.kubernetes:
            find_kubernetes()
    except EngineError as error:
        pytest.skip(str(error).splitlines()[0])
    yield cloud
    for process in processes_of(cloud.folder / "home"):
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    cloud.stop()


def engine_of(run: psutil.Popen) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return [child for child in run.children() if child.name() == "pulumi"]
    return []


def kill_all(run: psutil.Popen) -> None:
    """Language host and policy pack are left, as after a kill for memory."""
    for process in [run, *engine_of(run)]:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def kill_engine(run: psutil.Popen) -> None:
    for process in engine_of(run):
        with suppress(psutil.NoSuchProcess):
            process.kill()


def kill_eksai(run: psutil.Popen) -> None:
    run.kill()


def interrupt(run: psutil.Popen) -> None:
    run.send_signal(signal.SIGINT)


POINTS: list[tuple[bool, Kill]] = [
    (True, kill_all),
    (True, interrupt),
    (False, kill_all),
    (True, kill_eksai),
    (False, interrupt),
    (True, kill_engine),
    (False, kill_engine),
    (False, kill_eksai),
    (True, kill_all),
    (True, interrupt),
][: int(os.environ.get("EKSAI_KILL_POINTS", "3"))]
"""Whether Kubernetes is a real one, and how a run ends. Each takes minutes, so few of them are played at a time:
`EKSAI_KILL_POINTS=10` plays all."""

NAMES = [f"{'real' if real else 'simulated'}-{kill.__name__}-{number}" for number, (real, kill) in enumerate(POINTS)]


@pytest.mark.parametrize(
    ("cloud", "kill", "number"),
    [(real, kill, number) for number, (real, kill) in enumerate(POINTS)],
    ids=NAMES,
    indirect=["cloud"],
)
def test_an_up_killed_at_a_random_moment_is_made_good_by_the_next(
    cloud: LocalCloud, engine: Engine, kill: Kill, number: int
):
    chance = seeded(number)
    moment = chance.randrange(-15, RESOURCES)

    run = begin(cloud, "up")
    if moment < 0:
        # Early: while settings are checked, the engine starts, or policies judge the preview.
        wait_for(run, lambda: False, seconds=-moment * 0.8)
    else:
        wait_for(run, lambda: cloud.status().resources > moment)
    # Late, the objects in the cluster are made, which the account does not hold.
    time.sleep(chance.random() * (10 if moment > LAST_IN_ACCOUNT else 0.1))
    kill(run)
    ended(run, cloud)

    ends_well(cloud, engine, begin(cloud, "up"))


@pytest.mark.parametrize("cloud", [True], ids=["real"], indirect=True)
def test_a_destroy_killed_at_a_random_moment_is_made_good_by_the_next(cloud: LocalCloud, engine: Engine):
    assert ended(begin(cloud, "up"), cloud) == 0
    moment = seeded(len(POINTS)).randrange(RESOURCES)

    run = begin(cloud, "destroy", "--yes")
    wait_for(run, lambda: cloud.status().resources < moment)
    kill_all(run)
    ended(run, cloud)

    assert ended(begin(cloud, "destroy", "--yes"), cloud) == 0
    assert cloud.status().resources == 0
    ends_well(cloud, engine, begin(cloud, "up"))


def seeded(number: int) -> random.Random:
    seed = os.environ.get("EKSAI_KILL_SEED") or str(random.SystemRandom().randrange(10**6))
    print(f"EKSAI_KILL_SEED={seed}")
    return random.Random(f"{seed}-{number}")


def begin(cloud: LocalCloud, *command: str) -> psutil.Popen:
    """Starts `eksai` on the stack `dev`; what it prints is in the project's folder."""
    root = cloud.project.root
    place = ["--local", "--kubernetes"] if cloud.kubernetes else ["--local"]
    log = (root / "eksai.log").open("a")
    with log:
        return psutil.Popen(
            [sys.executable, "-m", "automation.cli", *command, "dev", *place, "-C", str(root)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def ended(run: psutil.Popen, cloud: LocalCloud) -> int:
    """The exit code of a run; what all runs have printed so far is told with a failure, one that hangs among them."""
    try:
        return run.wait(timeout=PATIENCE_S)
    finally:
        print((cloud.project.root / "eksai.log").read_text())


def wait_for(run: psutil.Popen, condition: Callable[[], bool], seconds: float = 240) -> None:
    """Waits for a condition, but no longer than the run or so many seconds."""
    deadline = time.monotonic() + seconds
    while run.poll() is None and time.monotonic() < deadline and not condition():
        time.sleep(0.01)


def ends_well(cloud: LocalCloud, engine: Engine, run: psutil.Popen) -> None:
    """The run brings the stack up whole, nothing is there twice, and all of it goes again."""
    assert ended(run, cloud) == 0, "the next up did not converge"
    with open_local(cloud.project, "dev", engine, kubernetes=cloud.kubernetes) as stack:
        assert stack.preview().is_unchanged
        assert strangers(cloud, stack.export()) == [], "something exists that no state knows"
        stack.destroy()
    assert cloud.status().resources == 0, "something is left in the account"
    assert processes_of(cloud.folder / "home") == [], "a process of a killed run is left"
    assert not cloud.status().running


def strangers(cloud: LocalCloud, state: dict) -> list[str]:
    """What the program has made in the account and the state does not hold."""
    known = {(entry["type"], entry.get("id")) for entry in state["deployment"]["resources"]}
    account = json.loads((cloud.folder / "cloud" / "account.json").read_text())
    made = [record for record in account["resources"] if record["name"]]
    return [f"{one['token']} {one['name']}" for one in made if (one["token"], one["id"]) not in known]
