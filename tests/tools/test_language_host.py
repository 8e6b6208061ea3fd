"""What the language host does without an engine; with one it is tried in tests/automation/test_stacks.py."""

import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools.engine.host import LANGUAGE_HOST, install_language_host
from tools.engine.language_host import describe


def failing_program(folder: Path, text: str) -> Exception:
    """The exception that a program of that text raises, with the traceback that running it leaves."""
    (folder / "__main__.py").write_text(text)
    with pytest.raises(Exception) as raised:  # noqa: PT011 (any: the program decides which)
        runpy.run_path(str(folder / "__main__.py"), run_name="__main__")
    return raised.value


def test_an_error_of_the_program_shows_its_own_lines_only(tmp_path):
    error = failing_program(tmp_path, "import json\n\njson.loads('{')\n")

    text = describe(error, str(tmp_path))

    assert text.startswith("JSONDecodeError: ")
    assert "at __main__.py:3  json.loads('{')" in text
    assert "decoder.py" not in text, "frames of Python and of packages help nobody here"


def test_an_error_that_the_program_defines_is_its_text_alone(tmp_path, monkeypatch):
    (tmp_path / "mistakes.py").write_text("class Mistake(Exception): pass\n")
    monkeypatch.syspath_prepend(tmp_path)

    error = failing_program(tmp_path, "from mistakes import Mistake\nraise Mistake('two settings are wrong')\n")

    assert describe(error, str(tmp_path)) == "two settings are wrong"
    del sys.modules["mistakes"]


def test_it_ends_when_its_engine_is_gone(tmp_path):
    """The engine here is a shell that is killed: no signal, no closed connection tells the host."""
    script = f'"{sys.executable}" "{LANGUAGE_HOST}" 127.0.0.1:1 > "{tmp_path}/port" & echo $!; wait'
    shell = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True)
    assert shell.stdout is not None
    host = int(shell.stdout.readline())
    port = tmp_path / "port"
    wait_for(lambda: port.exists() and port.read_text().strip().isdigit(), "its first line is the port")

    shell.kill()
    shell.communicate()

    wait_for(lambda: not is_alive(host), "the host outlives its engine")


def test_it_ends_when_its_engine_was_gone_before_it_listened(tmp_path):
    """Nobody reads its first line then, and its parent, when it first looks, is another process already."""
    script = (
        "import os, signal, subprocess, sys; _, unread = os.pipe()\n"
        "print(subprocess.Popen(sys.argv[1:], stdout=unread, stderr=subprocess.DEVNULL).pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    with (tmp_path / "pid").open("w") as output:
        subprocess.run([sys.executable, "-c", script, sys.executable, LANGUAGE_HOST, "127.0.0.1:1"], stdout=output)
    host = int((tmp_path / "pid").read_text())

    try:
        wait_for(lambda: not is_alive(host), "the host waits for an engine that never comes")
    finally:
        if is_alive(host):
            os.kill(host, signal.SIGKILL)


def test_the_launcher_runs_the_python_that_eksai_python_names(tmp_path):
    install_language_host(tmp_path)
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "started: $2 $3"\n')
    python.chmod(0o755)

    answer = subprocess.run(
        [tmp_path / "pulumi-language-python", "127.0.0.1:1"],
        env={**os.environ, "EKSAI_PYTHON": str(python)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert answer.stdout == f"started: {tmp_path}/language_host.py 127.0.0.1:1\n"


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A process that ended stays in the table until its parent, which is gone here, has asked for it.
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z" if Path("/proc").is_dir() else True


def wait_for(condition, reason: str) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, reason
        time.sleep(0.05)
