"""The command line: exit codes, messages, and what it does before it starts anything."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from automation.results import Result
from tools.scratch import scratch_project

ROOT = Path(__file__).parents[2]


def eksai(*arguments, cwd=ROOT, env=None, answer=""):
    """Runs the command as a person would, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from automation.cli import main; main()", *arguments],
        cwd=cwd,
        env=env,
        input=answer,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_help_is_there_at_once():
    started = time.monotonic()
    answer = eksai("--help")

    assert answer.returncode == 0
    for command in ("up", "preview", "refresh", "destroy", "outputs", "local", "engine"):
        assert command in answer.stdout
    assert time.monotonic() - started < 5.0, "it takes 0.3 s on an idle machine; heavy imports belong into commands"


def test_help_imports_no_pulumi():
    script = "import sys; import automation.cli; print(sorted({'pulumi', 'pydantic', 'grpc'} & sys.modules.keys()))"
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)

    assert answer.stdout.strip() == "[]"


def test_wrong_usage_exits_with_2():
    assert eksai("up").returncode == 2
    assert eksai("frobnicate").returncode == 2


@pytest.mark.parametrize("command", [["up", "dev"], ["preview", "dev"], ["destroy", "dev"], ["outputs", "dev"]])
def test_a_real_kubernetes_is_for_the_local_cloud(command):
    answer = eksai(*command, "--kubernetes")
    assert answer.returncode == 2
    assert "--kubernetes goes with --local" in " ".join(answer.stderr.replace("│", " ").split())


def test_outside_of_a_project_it_says_so(tmp_path):
    answer = eksai("preview", "dev", "-C", str(tmp_path))

    assert answer.returncode == 1
    assert "No Pulumi.yaml" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_an_unknown_stack_exits_with_1_and_names_the_known_ones(project):
    answer = eksai("destroy", "stage", "-C", str(project.root))

    assert answer.returncode == 1
    assert "there are: dev, prod" in answer.stderr


def test_destroy_asks_first_and_no_is_no(tmp_path):
    project = scratch_project(tmp_path)

    answer = eksai("destroy", "dev", "--local", "-C", str(project.root), answer="n\n")

    assert answer.returncode == 1
    assert "Delete every resource of dev on the local cloud?" in answer.stderr
    assert not (project.root / ".local").exists(), "nothing may have been started"


def test_destroy_does_not_ask_for_what_it_could_not_do(tmp_path):
    project = scratch_project(tmp_path)

    answer = eksai("destroy", "dev", "-C", str(project.root), answer="y\n")

    assert answer.returncode == 1
    assert "a documentation range works on the local cloud only" in answer.stderr
    assert "Delete every resource" not in answer.stderr


def test_env_of_a_cloud_that_does_not_run_says_how_to_start_it(project):
    answer = eksai("local", "env", "dev", "-C", str(project.root))

    assert answer.returncode == 1
    assert "eksai local start dev" in answer.stderr
    assert answer.stdout == "", "this output is evaluated by a shell"


def test_status_tells_of_every_stack(project):
    answer = eksai("local", "status", "-C", str(project.root))

    assert answer.stdout.splitlines() == ["dev: not running, 0 resources", "prod: not running, 0 resources"]


def test_without_an_engine_the_message_says_how_to_get_one(project, tmp_path):
    environment = {"PATH": "/nowhere", "HOME": str(tmp_path), "EKSAI_CACHE": str(tmp_path)}

    answer = eksai("up", "dev", "-C", str(project.root), env=environment)

    assert answer.returncode == 1
    assert "eksai engine build" in answer.stderr


class FakeStack:
    """A stack that succeeds at once."""

    notices = ("know this",)

    def preview(self, hear, **options):
        return Result("preview", "dev", {"same": 2}, (), (), (), {}, 1.0)


def test_json_is_all_there_is_on_standard_output(project, monkeypatch, capsys):
    from contextlib import nullcontext

    from automation.commands import stack

    monkeypatch.setattr(stack, "_open", lambda *arguments, **options: nullcontext(FakeStack()))
    monkeypatch.setattr(FakeStack, "up", FakeStack.preview, raising=False)
    monkeypatch.setattr(FakeStack, "refresh", FakeStack.preview, raising=False)
    monkeypatch.setattr(FakeStack, "destroy", FakeStack.preview, raising=False)

    stack.preview("dev", as_json=True)

    assert json.loads(capsys.readouterr().out)["changes"] == {"same": 2}


def test_json_tells_of_a_failure_too(project):
    (project.root / "Pulumi.dev.yaml").write_text("config: [\n")

    answer = eksai("preview", "dev", "--json", "-C", str(project.root))

    assert answer.returncode == 1
    read = json.loads(answer.stdout)
    assert read["error"] in ("ProjectError", "EngineMissing")
    assert read["message"] in answer.stderr


@pytest.mark.parametrize("group", ["local", "engine"])
def test_a_group_without_a_command_shows_its_commands(group):
    assert "Usage" in eksai(group).stdout
