"""What `eksai plan` costs, as a ratio to the least that it could cost, and whether pools add up evenly.

Prints one line a figure and exits 1 when one is over its budget: `python bench/plan.py [--runs N]`.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import yaml

from automation.plan import make_plan
from automation.project import Project

ROOT = Path(__file__).resolve().parents[1]
EKSAI = Path(sys.executable).with_name("eksai")
STACK = "dev"

MOST_OF_FLOOR = 2.0
"""Budget: a plan takes at most so many times as long as the floor."""
MOST_MIB = 300
"""Budget: peak memory of a plan."""
POOLS = (2, 20, 40)
MOST_CURVE = 1.5
"""Budget: a pool among many makes at most so many times the work of ours that a pool among few makes."""

TraceFunction = Callable[[FrameType, str, object], "TraceFunction | None"]

# What the program itself needs; what else the command imports is the command's own cost.
PROGRAM_PACKAGES = ("pulumi", "pulumi_aws", "pulumi_eks", "pulumi_kubernetes", "pulumi_random", "pydantic", "yaml")

# Runs the program in a world; prints how many resources it registers, and the modules that it needed for that.
PROBE = """
import sys
from pathlib import Path
from automation.plan import make_plan
from automation.project import Project
print(len(make_plan(Project.find(Path(sys.argv[1])), sys.argv[2]).resources))
print(*sorted(name for name in sys.modules if name.partition(".")[0] in sys.argv[3:]))
"""


class Cost(NamedTuple):
    """What one process took: seconds on the clock, and MiB at its peak."""

    seconds: float
    mib: float


def cost_of(command: Sequence[str | os.PathLike[str]]) -> Cost:
    """Runs a command to its end.

    Raises:
        SystemExit: the command failed; its output is shown.
    """
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{output.read().decode()}")
    # Linux counts in KiB, macOS in bytes.
    return Cost(seconds, usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10))


def plan_command(folder: Path) -> list[str | Path]:
    return [EKSAI, "plan", STACK, "--quiet", "-C", folder]


def floor_command(folder: Path) -> list[str | Path]:
    """The floor for a project: the same number of resources, the same imports."""
    probed = subprocess.run(
        [sys.executable, "-c", PROBE, folder, STACK, *PROGRAM_PACKAGES],
        cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True,
    )  # fmt: skip
    count, modules = probed.stdout.splitlines()
    print(f"{STACK}: {count} resources, {len(modules.split())} modules")
    return [sys.executable, ROOT / "bench" / "floor.py", count, *modules.split()]


def interleaved(commands: Sequence[Sequence[str | Path]], runs: int) -> list[list[Cost]]:
    """Runs the commands in turn, so that a busy moment of the machine falls on all of them."""
    rounds = [[cost_of(command) for command in commands] for _ in range(runs)]
    return [list(costs) for costs in zip(*rounds, strict=True)]


def seconds(costs: Sequence[Cost]) -> float:
    return statistics.median(cost.seconds for cost in costs)


def lines_of_ours(folder: Path) -> int:
    """Lines of this repository that a plan executes: the same in every run, whatever the machine does beside it.

    Seconds would not tell: Pulumi's SDK waits for all outstanding outputs anew with each batch, which costs it more
    than linear time in the number of resources. What the whole takes, the SDK included, is measured against the floor.
    """
    project = Project.find(folder)
    ours = f"{ROOT}{os.sep}"
    libraries = f"{sys.prefix}{os.sep}"
    lines = 0

    def on_line(frame: FrameType, event: str, argument: object) -> TraceFunction:
        nonlocal lines
        lines += event == "line"
        return on_line

    def on_call(frame: FrameType, event: str, argument: object) -> TraceFunction | None:
        name = frame.f_code.co_filename
        return on_line if name.startswith((ours, f"{folder}{os.sep}")) and not name.startswith(libraries) else None

    sys.settrace(on_call)
    try:
        make_plan(project, STACK)
    finally:
        sys.settrace(None)
    return lines


def with_pools(folder: Path, count: int) -> Path:
    """A copy of the project whose stack has so many pools, all like its first one."""
    folder.mkdir()
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copy(ROOT / name, folder)
    stack = yaml.safe_load((ROOT / f"Pulumi.{STACK}.yaml").read_text())
    name, pool = next(iter(stack["config"]["eksai:nodePools"].items()))
    stack["config"]["eksai:nodePools"] |= {f"{name}-{number}": pool for number in range(count)}
    (folder / f"Pulumi.{STACK}.yaml").write_text(yaml.safe_dump(stack))
    return folder


def within(figure: str, value: float, most: float) -> bool:
    """Prints a figure with its budget and tells whether it keeps to it."""
    kept = value <= most
    print(f"{figure}: {value:.2f} (at most {most:g}){'' if kept else '  OVER BUDGET'}")
    return kept


def main() -> int:
    """Measures, prints, and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5, help="runs of each command (default: 5)")
    runs = parser.parse_args().runs

    plans, floors = interleaved([plan_command(ROOT), floor_command(ROOT)], runs)
    print(f"plan {seconds(plans):.2f} s, floor {seconds(floors):.2f} s, medians of {runs} interleaved runs")
    kept = [
        within("plan / floor", seconds(plans) / seconds(floors), MOST_OF_FLOOR),
        within("peak MiB", max(cost.mib for cost in plans), MOST_MIB),
    ]

    with tempfile.TemporaryDirectory() as temporary:
        few, some, many = (lines_of_ours(with_pools(Path(temporary) / str(count), count)) for count in POOLS)
    lower = (some - few) / (POOLS[1] - POOLS[0])
    upper = (many - some) / (POOLS[2] - POOLS[1])
    for count, lines in zip(POOLS, (few, some, many), strict=True):
        print(f"{count} pools: {lines} lines of ours executed")
    print(f"a pool: {lower:.0f} lines from {POOLS[0]} to {POOLS[1]}, {upper:.0f} on to {POOLS[2]}")
    kept.append(within("a pool among many / among few", upper / lower, MOST_CURVE))
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
