"""`python -m localcloud serve`: runs the local cloud's server in the foreground, its log on stderr."""

import argparse
import logging
import sys
from pathlib import Path

from localcloud.errors import ControlPlaneFailed
from localcloud.server import AlreadyRunning, PortTaken, serve


def main() -> int:
    """Reads the command line and serves; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m localcloud", description=__doc__)
    command = parser.add_subparsers(dest="command", required=True).add_parser("serve", help="serve until SIGTERM")
    command.add_argument("--directory", type=Path, required=True, help="folder of the account")
    command.add_argument("--port", type=int, default=0, help="port on 127.0.0.1 (default: any free one)")
    command.add_argument("--kube", type=Path, help="the program that makes the cluster real (default: simulated)")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    # One line for each request of a controller would bury the engine's.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    try:
        serve(arguments.directory, arguments.port, arguments.kube)
    except (AlreadyRunning, PortTaken, ControlPlaneFailed) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
