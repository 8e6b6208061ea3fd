"""Building a program, with a stand-in for Go that answers as the real one does."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tools.engine import build as building
from tools.engine.build import build
from tools.engine.errors import BuildError
from tools.engine.go import parse_version
from tools.engine.programs import PROGRAMS, installed, installed_folder

PULUMI = PROGRAMS["pulumi"]
ROOT = Path(__file__).parents[2]

FAKE_GO = """\
#!{python}
import os, pathlib, sys, time
command, *arguments = sys.argv[1:]
if command == "env":
    known = {{"GOVERSION": "go{version}", "GOTOOLCHAIN": "{toolchain}"}}
    known |= {{"GOCACHE": "{folder}", "GOMODCACHE": "{folder}"}}
    print("\\n".join(known[name] for name in arguments))
elif command == "list":
    print("go: downloading example.com/m v1.0.0", file=sys.stderr)
    print("a/b\\nc/d\\n" + arguments[-1])
elif command == "build":
    with open("{folder}/builds", "a") as log:
        log.write("build\\n")
    print("a/b\\nc/d\\n" + arguments[-1], file=sys.stderr, flush=True)
    {during}
    output = pathlib.Path(arguments[arguments.index("-o") + 1])
    output.write_text("program")
    output.chmod(0o755)
"""


@pytest.fixture
def fake_go(tmp_path, monkeypatch):
    """Puts a stand-in for Go on PATH; call it to say how it behaves."""

    def install(*, version="1.99.0", toolchain="auto", during="pass"):
        folder = tmp_path / "go"
        folder.mkdir(exist_ok=True)
        command = folder / "go"
        text = FAKE_GO.format(python=sys.executable, folder=folder, version=version, toolchain=toolchain, during=during)
        command.write_text(text)
        command.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        return folder

    return install


@pytest.fixture
def plenty_of_disk(monkeypatch):
    usage = type("Usage", (), {"free": 10**12})()
    monkeypatch.setattr(building.shutil, "disk_usage", lambda path: usage)


pytestmark = pytest.mark.usefixtures("plenty_of_disk")


def leftovers(cache):
    return [path.name for path in cache.iterdir() if not path.name.endswith(".lock")]


def test_a_build_leaves_the_program_with_its_language_host_beside_it(tmp_path, fake_go):
    fake_go()
    seen = []

    binary = build(PULUMI, seen.append, cache=tmp_path / "cache")

    assert binary == installed(PULUMI, tmp_path / "cache")
    assert {path.name for path in binary.parent.iterdir()} == {
        "pulumi",
        "pulumi-language-python",
        "language_host.py",
    }
    assert os.access(binary.with_name("pulumi-language-python"), os.X_OK), "the engine must be able to start it"
    assert seen[-1].doing == "linking", "the last package is the program itself"
    assert (seen[-1].done, seen[-1].total) == (3, 3)
    assert any("downloading" in progress.doing for progress in seen), "downloads take long and must show"


def test_a_program_is_built_once(tmp_path, fake_go):
    folder = fake_go()
    for _ in range(2):
        build(PULUMI, lambda progress: None, cache=tmp_path / "cache")

    assert (folder / "builds").read_text().splitlines() == ["build"]


def test_two_builds_at_once_share_one(tmp_path, fake_go):
    folder = fake_go(during="time.sleep(0.5)")
    script = textwrap.dedent(
        """
        import sys; from pathlib import Path
        from tools.engine import build; from tools.engine.programs import PROGRAMS
        build.shutil.disk_usage = lambda path: type("U", (), {"free": 10**12})()
        print(build.build(PROGRAMS["pulumi"], lambda p: None, cache=Path(sys.argv[1])))
        """
    )
    command = [sys.executable, "-c", script, str(tmp_path / "cache")]
    both = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = {process.communicate(timeout=30)[0] for process in both}

    assert len(answers) == 1, "both must end with the same program"
    assert (folder / "builds").read_text().splitlines() == ["build"], "the second must wait for the first"


def test_a_failed_build_leaves_nothing_and_shows_what_the_compiler_said(tmp_path, fake_go):
    fake_go(during="sys.exit('x.go:1: undefined: y')")

    with pytest.raises(BuildError, match="undefined: y"):
        build(PULUMI, lambda progress: None, cache=tmp_path / "cache")

    assert leftovers(tmp_path / "cache") == []


def test_a_full_disk_is_named_as_the_cause(tmp_path, fake_go):
    fake_go(during="sys.exit('write x.o: no space left on device')")

    with pytest.raises(BuildError, match="The disk is full"):
        build(PULUMI, lambda progress: None, cache=tmp_path / "cache")


def test_an_interrupt_ends_the_compiler_and_leaves_no_half_built_program(tmp_path, fake_go):
    folder = fake_go(during=f"open('{tmp_path}/pid', 'w').write(str(os.getpid())); time.sleep(60)")
    environment = {**os.environ, "EKSAI_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "tools.engine"]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    error = process.communicate(timeout=20)[1]

    assert process.returncode == 130
    assert "Interrupted" in error
    assert "Traceback" not in error
    assert leftovers(tmp_path / "cache" / "engine") == []
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert folder.exists()


def test_without_go_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(BuildError, match="No `go` command") as refusal:
        build(PULUMI, lambda progress: None, cache=tmp_path)

    assert "go.dev/dl" in str(refusal.value)
    assert "pulumi.com/docs/install" in str(refusal.value), "installing Pulumi itself is the other way out"


@pytest.mark.parametrize(("version", "toolchain"), [("1.24.9", "auto"), ("1.25.0", "local")])
def test_a_go_that_is_too_old_is_refused(tmp_path, fake_go, version, toolchain):
    fake_go(version=version, toolchain=toolchain)

    with pytest.raises(BuildError, match=f"Go {version} .* is too old"):
        build(PULUMI, lambda progress: None, cache=tmp_path / "cache")


def test_a_go_that_may_fetch_the_newer_one_it_needs_is_used(tmp_path, fake_go):
    fake_go(version="1.25.0", toolchain="auto")
    seen = []

    build(PULUMI, seen.append, cache=tmp_path / "cache")

    assert any(progress.doing.startswith("fetching Go") for progress in seen)


def test_too_little_disk_is_refused_before_anything_is_compiled(tmp_path, fake_go, monkeypatch):
    folder = fake_go()
    usage = type("Usage", (), {"free": 10**8})()
    monkeypatch.setattr(building.shutil, "disk_usage", lambda path: usage)

    with pytest.raises(BuildError, match=r"0\.1 GB are free"):
        build(PULUMI, lambda progress: None, cache=tmp_path / "cache")

    assert not (folder / "builds").exists()


def test_a_checkout_with_another_language_host_renews_the_one_beside_the_engine(tmp_path, fake_go):
    fake_go()
    binary = build(PULUMI, lambda progress: None, cache=tmp_path)
    host = installed_folder(PULUMI, tmp_path) / "bin" / "language_host.py"
    host.write_text("an older one")

    assert build(PULUMI, lambda progress: None, cache=tmp_path) == binary
    assert host.read_text() != "an older one"


@pytest.mark.parametrize(
    ("text", "version"),
    [("go1.26.6", (1, 26, 6)), ("go1.27rc1", (1, 27)), ("go1.26.0 X:nocoverageredesign", (1, 26, 0)), ("devel", ())],
)
def test_go_versions_are_read(text, version):
    assert parse_version(text) == version
