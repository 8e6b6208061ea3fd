"""A stack driven through the real engine: a small program of components only, so that no cloud is asked."""

import os
import signal
import socket
import subprocess
import time

import pytest

from automation.configuration import Known
from automation.engine import find_engine
from automation.errors import ConfigError, EngineError, PolicyRefusal, ProgramFailed, StackLocked
from automation.events import Finished, Message, Started
from automation.local import LocalCloud
from automation.results import MASK
from automation.stacks import Stack, open_aws, open_local
from automation.work_folder import write_work_folder


@pytest.fixture
def engine():
    try:
        return find_engine()
    except EngineError as error:
        pytest.skip(str(error).splitlines()[0])


@pytest.fixture
def open_stack(project, engine):
    """Opens the stack `dev` on an engine whose providers are nowhere: components need none."""

    def open_dev():
        cloud = LocalCloud(project, "dev")
        write_work_folder(project, "dev", cloud.work, foreign_secrets=True)
        return Stack(project, "dev", engine, cloud.work, cloud.environment(engine, 1), Known(), cloud)

    return open_dev


def no_check(project, stack, local):
    """The settings of the real program have nothing to say about this small one."""
    return Known()


@pytest.mark.engine
@pytest.mark.slow
class TestARun:
    def test_up_then_no_change_then_destroy(self, open_stack, stack_file):
        before = stack_file.read_text()
        stack = open_stack()
        events = []

        made = stack.up(events.append)
        again = open_stack().preview()
        shown = stack.outputs()
        revealed = stack.outputs(reveal=True)
        state = str(stack.export())
        gone = stack.destroy()

        assert made.changes == {"create": 3}, "the stack and two boxes"
        assert {change.name for change in made.resources} == {"toy-dev", "box-0", "box-1"}
        assert any(isinstance(event, Started) for event in events)
        assert any(isinstance(event, Finished) for event in events)
        assert Message("info", "nice to meet you") in events, "what the program prints is passed on"
        assert made.outputs == shown == {"greeting": "hello", "token": MASK}
        assert revealed["token"] == "very secret"
        assert "very secret" not in state, "a secret is encrypted in the exported state"
        assert [(finding.name, finding.level) for finding in made.findings] == [("box-advice", "advisory")]
        assert made.findings[0].urn.endswith("::box-1")
        assert again.is_unchanged
        assert gone.changes == {"delete": 3}
        assert stack_file.read_text() == before, "the repository's stack file is never written"

    def test_a_mandatory_policy_refuses_and_nothing_is_made(self, project, open_stack):
        pack = project.root / "policies" / "__main__.py"
        pack.write_text(pack.read_text().replace("ADVISORY", "MANDATORY"))

        with pytest.raises(PolicyRefusal, match="One would do") as refusal:
            open_stack().preview()

        assert [finding.level for finding in refusal.value.findings] == ["mandatory"]

    def test_an_error_of_the_program_is_short_and_has_no_traceback(self, project, open_stack):
        program = project.root / "__main__.py"
        program.write_text(program.read_text() + "\nraise ValueError('boxes are out')\n")

        with pytest.raises(ProgramFailed) as failure:
            open_stack().preview()

        assert str(failure.value).splitlines()[0] == "ValueError: boxes are out"
        assert "Traceback" not in str(failure.value)

    def test_an_error_that_the_program_defines_is_its_text_alone(self, project, open_stack):
        program = project.root / "__main__.py"
        (project.root / "mistakes.py").write_text("class Mistake(Exception): pass\n")
        program.write_text("from mistakes import Mistake\nraise Mistake('two settings are wrong\\n  fix them')\n")

        with pytest.raises(ProgramFailed) as failure:
            open_stack().preview()

        assert str(failure.value) == "two settings are wrong\n  fix them"

    def test_an_interrupt_is_handed_to_the_engine_once_and_waited_for(self, project, open_stack):
        (project.root / "__main__.py").write_text("import time\nprint('slow')\ntime.sleep(60)\n")
        stack = open_stack()
        heard = []

        def interrupt(event):
            heard.append(event)
            if event == Message("info", "slow"):
                os.kill(os.getpid(), signal.SIGINT)

        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            stack.preview(interrupt)

        assert time.monotonic() - started < 30, "the engine was not told"
        notes = [event.text for event in heard if isinstance(event, Message) and event.severity == "warning"]
        assert [note.split(".")[0] for note in notes] == ["Interrupted"], "once, and the person is told"

    def test_a_listener_that_fails_ends_the_run_and_its_error_is_told(self, project, open_stack):
        (project.root / "__main__.py").write_text("import time\nprint('slow')\ntime.sleep(60)\n")
        stack = open_stack()

        def nobody_reads(event):
            raise BrokenPipeError("as of `eksai up | head`")

        started = time.monotonic()
        with pytest.raises(BrokenPipeError):
            stack.preview(nobody_reads)
        assert time.monotonic() - started < 30, "the engine waits for nobody"

    def test_the_lock_of_a_killed_run_is_removed(self, project, open_stack):
        stack = open_stack()
        stack.create()
        lock(project, pid=2**22 + 1)

        assert stack.up().changes == {"create": 3}

    def test_the_lock_of_a_run_that_lives_is_respected(self, project, open_stack):
        stack = open_stack()
        stack.create()
        home = str(project.root / ".local/dev/simulated/home")
        with subprocess.Popen(["sleep", "60"], env={**os.environ, "PULUMI_HOME": home}) as holder:
            lock(project, pid=holder.pid)
            with pytest.raises(StackLocked, match="another run works on it"):
                stack.up()
            holder.kill()


def lock(project, *, pid):
    """Puts a lock into the backend as a run of that process would."""
    folder = project.root / ".local/dev/simulated/backend/.pulumi/locks/organization/toy/dev"
    folder.mkdir(parents=True, exist_ok=True)
    text = '{"pid": %d, "username": "me", "hostname": "%s", "timestamp": "2026-01-01T00:00:00Z"}'
    (folder / "0b4cd6bd-54f5-4b3c-9e1f-0d6cf9a7a0bb.json").write_text(text % (pid, socket.gethostname()))


class TestBeforeTheEngineStarts:
    def test_wrong_settings_are_refused(self, project, tmp_path):
        with (
            pytest.raises(ConfigError, match="toy:boxes"),
            open_local(project, "dev", fake_engine(tmp_path)),
        ):
            pytest.fail("the settings of this program are not those of eksai")

        assert not (project.root / ".local").exists(), "nothing may have been made or started"

    def test_the_engine_that_was_built_here_is_refused_for_aws(self, project, tmp_path):
        with (
            pytest.raises(EngineError, match=r"no AWS provider.*\n.*pulumi\.com/docs/install"),
            open_aws(project, "dev", fake_engine(tmp_path), check=no_check),
        ):
            pytest.fail("it has no plug-ins for AWS")


def fake_engine(tmp_path):
    from semver import VersionInfo

    from automation.engine import Engine

    return Engine(tmp_path / "pulumi", VersionInfo(3, 274, 1), built_here=True)
