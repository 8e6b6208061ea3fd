"""`python -m tools.engine [--check] [PROGRAM ...]`: builds the programs, or tells which ones are built."""

import argparse
import signal
import sys
from types import FrameType

from rich.console import Console

from tools.engine.build import build
from tools.engine.display import building
from tools.engine.errors import BuildError
from tools.engine.programs import PROGRAMS, cache_folder, installed


def main(arguments: list[str] | None = None) -> int:
    """Exit codes: 0 all built, 1 one is missing or failed, 2 wrong usage, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tools.engine", description=__doc__)
    parser.add_argument("program", nargs="*", help=f"of {', '.join(PROGRAMS)}; all of them if none is named")
    parser.add_argument("--check", action="store_true", help="only tell what is built; exit 1 if one is missing")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.program if name not in PROGRAMS]
    if unknown:
        parser.error(f"no such program: {', '.join(unknown)} (there are: {', '.join(PROGRAMS)})")
    names = given.program or list(PROGRAMS)
    return _check(names) if given.check else _build(names)


def _check(names: list[str]) -> int:
    missing = 0
    for name in names:
        program = PROGRAMS[name]
        binary = installed(program, cache_folder())
        missing += binary is None
        print(f"{name} {program.version}: {binary or 'not built'}")
    return 1 if missing else 0


def _build(names: list[str]) -> int:
    console = Console(stderr=True, highlight=False)
    # A supervisor's SIGTERM must end the compilers too: turn it into the exception that Ctrl-C raises.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        for name in names:
            with building(PROGRAMS[name], console) as report:
                binary = build(PROGRAMS[name], report)
            print(binary)
    except BuildError as error:
        console.print(str(error), style="red", markup=False)
        return 1
    except KeyboardInterrupt:
        console.print("Interrupted. No half-built program is left; what was compiled is kept for the next try.")
        return 130
    return 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
