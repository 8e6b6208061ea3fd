"""Puts the Python language host where the engine looks for it: beside the engine."""

import os
from pathlib import Path

LANGUAGE_HOST = Path(__file__).with_name("language_host.py")
LAUNCHER = """\
#!/bin/sh
# Starts the Python language host beside this file, under the Python that runs the program.
exec "${EKSAI_PYTHON:-python3}" -u "$(dirname "$0")/language_host.py" "$@"
"""


def install_language_host(folder: Path) -> None:
    """Puts the Python language host and its launcher into `folder`, beside the engine, unless they are there."""
    _write(folder / "language_host.py", LANGUAGE_HOST.read_text(), executable=False)
    _write(folder / "pulumi-language-python", LAUNCHER, executable=True)


def _write(path: Path, text: str, *, executable: bool) -> None:
    if path.exists() and path.read_text() == text:
        return
    # By rename: an engine that starts meanwhile finds the old file or the new one, never half of one.
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(text)
    fresh.chmod(0o755 if executable else 0o644)
    fresh.replace(path)
