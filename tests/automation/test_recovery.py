"""What becomes of what a killed run has left: decisions over states and accounts, and processes that really run."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from automation.configuration import Known
from automation.engine import find_engine
from automation.errors import CreationsPending, EngineError, StackLocked
from automation.events import Message
from automation.local import LocalCloud
from automation.orphans import Process, abandoned_engines, abandoned_plugins, end_orphans, processes_of, works_on
from automation.recovery import (
    LeftByKilledRuns,
    Leftovers,
    explain,
    finder,
    pending_creations,
    settle,
)
from automation.stacks import Stack
from automation.work_folder import write_work_folder
from localcloud.record import SECRET_MARK, Record
from tools.golden import STACKS, state_file

STACK = "urn:pulumi:dev::toy::"
VPC, ROLE, PASSWORD = "aws:ec2/vpc:Vpc", "aws:iam/role:Role", "random:index/randomPassword:RandomPassword"
SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:abc"}


def resource(token, name, inputs=None, **more):
    return {"urn": f"{STACK}{token}::{name}", "custom": True, "type": token, "inputs": inputs or {}, **more}


def pending(kind, entry):
    return {"type": kind, "resource": entry}


def state(resources=(), operations=()):
    return {"version": 3, "deployment": {"resources": list(resources), "pending_operations": list(operations)}}


def record(token, name, record_id, inputs=None):
    return Record(token, "us-west-2", record_id, name, inputs or {}, {}, "seed")


def names(settled):
    return {entry["urn"].rpartition("::")[2]: entry for entry in settled.state["deployment"]["resources"]}


class TestAPendingCreation:
    def test_of_something_that_exists_is_adopted_with_its_id_and_refreshed(self):
        begun = resource(VPC, "network", {"cidrBlock": "10.0.0.0/16"}, parent="p", dependencies=["d"])

        settled = settle(state([], [pending("creating", begun)]), lambda _: "vpc-1")

        adopted = names(settled)["network"]
        assert adopted["id"] == "vpc-1"
        assert (adopted["parent"], adopted["dependencies"]) == ("p", ["d"]), "where it belongs is kept"
        assert adopted["outputs"] == begun["inputs"], "what a refresh needs to find secrets again"
        assert settled.adopted == settled.doubtful == (begun["urn"],)
        assert "pending_operations" not in settled.state["deployment"]

    def test_of_something_that_does_not_exist_is_dropped(self):
        begun = resource(VPC, "network")

        settled = settle(state([], [pending("creating", begun)]), lambda _: None)

        assert names(settled) == {}
        assert settled.dropped == (begun["urn"],)
        assert settled.doubtful == ()

    def test_that_the_engine_knows_the_id_of_is_not_looked_up(self):
        begun = resource(ROLE, "nodes", id="nodes-1", outputs={"arn": "arn:aws:iam::1:role/nodes-1"})

        settled = settle(state([], [pending("creating", begun)]), lambda _: pytest.fail("it was looked up"))

        assert names(settled)["nodes"] == begun

    def test_of_a_component_or_a_provider_is_forgotten_without_a_word(self):
        begun = [
            {**resource("eksai:index:Network", "network"), "custom": False},
            resource("pulumi:providers:aws", "aws", id="0b1c"),
        ]

        settled = settle(state([], [pending("creating", one) for one in begun]), lambda _: "found")

        assert names(settled) == {}
        assert (settled.adopted, settled.dropped) == ((), ())

    def test_of_a_replacement_leaves_the_old_one_to_be_deleted(self):
        old, new = resource(VPC, "network", id="vpc-1"), resource(VPC, "network", {"cidrBlock": "10.1.0.0/16"})

        settled = settle(state([old], [pending("creating", new)]), lambda _: "vpc-2")

        entries = settled.state["deployment"]["resources"]
        assert [(entry["id"], entry.get("delete", False)) for entry in entries] == [("vpc-1", True), ("vpc-2", False)]

    def test_of_a_replacement_whose_old_one_is_gone_takes_its_place(self):
        old, new = resource(ROLE, "nodes", id="nodes-1", pendingReplacement=True), resource(ROLE, "nodes")

        settled = settle(state([old], [pending("creating", new)]), lambda _: "nodes-2")

        assert [entry["id"] for entry in settled.state["deployment"]["resources"]] == ["nodes-2"]


@pytest.mark.parametrize("kind", ["updating", "deleting", "reading"])
def test_what_was_being_changed_deleted_or_read_is_refreshed(kind):
    known = resource(VPC, "network", id="vpc-1")

    settled = settle(state([known], [pending(kind, known)]), lambda _: pytest.fail("it is known"))

    assert settled.doubtful == (known["urn"],)
    assert names(settled) == {"network": known}


def test_only_what_the_state_holds_can_be_refreshed():
    gone = resource(VPC, "network", id="vpc-1")

    assert settle(state([], [pending("deleting", gone)]), lambda _: None).doubtful == ()


def test_a_state_without_pending_operations_stays_as_it_is():
    known = resource(VPC, "network", id="vpc-1")

    assert settle(state([known]), lambda _: None).state["deployment"] == {"resources": [known]}


class TestTheAccount:
    def test_is_searched_by_type_name_and_arguments(self):
        begun = resource(VPC, "network", {"cidrBlock": "10.0.0.0/16", "tags": {"a": "b"}})
        records = [
            record(ROLE, "network", "another type", begun["inputs"]),
            record(VPC, "other", "another name", begun["inputs"]),
            record(VPC, "network", "other arguments", {"cidrBlock": "10.1.0.0/16", "tags": {"a": "b"}}),
            record(VPC, "network", "fewer arguments", {"cidrBlock": "10.0.0.0/16"}),
            record(VPC, "network", "vpc-1", {"cidrBlock": "10.0.0.0/16", "tags": {"a": "b"}}),
        ]

        assert finder(records, state())(begun) == "vpc-1"
        assert finder(records[:-1], state())(begun) is None

    def test_gives_nothing_that_the_state_holds_already(self):
        begun = resource(VPC, "network")
        records = [record(VPC, "network", "vpc-1")]

        assert finder(records, state([resource(VPC, "network", id="vpc-1")]))(begun) is None

    def test_gives_each_thing_once(self):
        find_id = finder([record(VPC, "network", "vpc-1"), record(VPC, "network", "vpc-2")], state())

        found = [find_id(resource(VPC, "network")) for _ in range(3)]

        assert found == ["vpc-2", "vpc-1", None], "the newest first: an older one was left by somebody else"

    def test_does_not_tell_secrets_apart(self):
        begun = resource(ROLE, "nodes", {"name": "nodes", "token": SECRET, "list": [SECRET, 1]})
        kept = record(ROLE, "nodes", "nodes", {"name": "nodes", "token": SECRET_MARK, "list": [SECRET_MARK, 1]})

        assert finder([kept], state())(begun) == "nodes"


class TestOnAws:
    def test_only_what_may_cost_or_stand_in_the_way_is_asked_about(self):
        vpc = resource(VPC, "network")
        operations = [
            pending("creating", vpc),
            pending("creating", resource(PASSWORD, "password")),
            pending("creating", {**resource("eksai:index:Network", "network"), "custom": False}),
            pending("updating", resource(ROLE, "nodes")),
        ]

        assert pending_creations(state([], operations)) == [vpc]

    def test_a_person_is_told_how_to_look_to_adopt_and_to_forget(self):
        creations = [
            resource(VPC, "network", {"cidrBlock": "10.0.0.0/16", "tags": {"Name": "eksai-dev"}}),
            resource(ROLE, "nodes", {"name": "nodes-1f2e"}, parent=f"{STACK}p", provider=f"{STACK}aws::0b1c"),
            resource("aws:ec2/securityGroup:SecurityGroup", "efa", {"name": "efa-3d"}),
            resource(VPC, "second", id="vpc-2"),
        ]

        text = explain("dev", Path("/work"), creations)

        assert "killed while it created 4 resources" in text
        assert "ec2.Vpc network: AWS draws its id; look for tag Name eksai-dev, cidrBlock 10.0.0.0/16" in text
        assert "iam.Role nodes: its id would be nodes-1f2e" in text
        assert "ec2.SecurityGroup efa: its name would be efa-3d" in text
        assert "ec2.Vpc second: it exists, as vpc-2" in text, "the engine knew it"
        assert f"pulumi import --stack dev {VPC} network ID --generate-code=false" in text
        assert f"{ROLE} nodes nodes-1f2e --parent 'parent={STACK}p' --provider 'provider={STACK}aws'" in text
        assert "pulumi refresh --stack dev --clear-pending-creates" in text

    @pytest.mark.parametrize("stack", STACKS)
    def test_an_id_that_is_told_is_the_right_one(self, stack):
        """Judged by a state that the engine has written."""
        made = json.loads(state_file(stack).read_text(encoding="utf-8"))["deployment"]["resources"]
        told = 0
        for entry in made:
            if entry.get("custom") and not entry["type"].startswith("pulumi:"):
                text = explain(stack, Path("/work"), [{key: entry[key] for key in ("urn", "type", "inputs")}])
                name, given = re.search(r"pulumi import --stack \S+ \S+ (\S+) (\S+) --gen", text).groups()
                assert given in ("ID", entry["id"]), f"{entry['type']} {name}"
                told += given != "ID"
        assert told > 20


def test_a_person_is_told_what_was_done_in_one_line():
    assert not Leftovers()
    assert str(Leftovers(processes=1, locks=1, adopted=2, dropped=1, refreshed=2)) == (
        "An earlier run was killed: ended 1 process of it, removed its lock, adopted 2 resources that it had begun, "
        "dropped 1 creation that came to nothing, read 2 resources anew."
    )


class TestWhoIsAnOrphan:
    ENGINE = Process(10, (9, 1), ("/opt/pulumi", "up"), 9)

    def test_an_engine_whose_eksai_is_gone(self):
        adopted_by_init = Process(10, (1,), ("/opt/pulumi", "up"), 9)

        assert abandoned_engines([adopted_by_init]) == [adopted_by_init]
        assert abandoned_engines([self.ENGINE]) == [], "somebody waits for it"

    def test_never_an_engine_that_a_person_started(self):
        in_the_background = Process(10, (1,), ("pulumi", "up"), None)

        assert abandoned_engines([in_the_background]) == []

    @pytest.mark.parametrize(
        "command",
        [
            ("/opt/pulumi-resource-kubernetes", "127.0.0.1:1"),
            ("python3", "-u", "/opt/language_host.py", "127.0.0.1:1"),
            ("python3", "/opt/pulumi-language-python-exec", "."),
            ("python3", "-u", "-m", "pulumi.policy", "127.0.0.1:1", "policies"),
        ],
    )
    def test_a_plugin_without_a_living_engine_above_it(self, command):
        assert abandoned_plugins([Process(11, (1,), command, 9)])
        assert not abandoned_plugins([self.ENGINE, Process(11, (10, 9, 1), command, 9)])
        assert not abandoned_plugins([self.ENGINE, Process(12, (11, 10, 9, 1), command, 9)]), "however far above"

    @pytest.mark.parametrize("command", [("bash",), ("vim", "pulumi-notes.md"), ("python3", "-m", "localcloud"), ()])
    def test_never_a_shell_an_editor_or_the_local_cloud(self, command):
        processes = [Process(11, (1,), command, None), Process(12, (1,), command, 9)]

        assert abandoned_plugins(processes) == abandoned_engines(processes) == []


@pytest.fixture
def sleeper(tmp_path):
    """Starts processes with a name and environment of choice, which sleep; ends them."""
    started: list[psutil.Process] = []

    def start(name, home, **environment):
        program = tmp_path / name
        if not program.exists():
            shutil.copy(shutil.which("sleep"), program)
        # Its parent ends at once, as a killed one does.
        script = "import subprocess, sys; print(subprocess.Popen(sys.argv[1:]).pid)"
        # To a file: the sleeper would hold a pipe open.
        with (tmp_path / "pid").open("w") as output:
            subprocess.run(
                [sys.executable, "-c", script, program, "120"],
                env={**os.environ, "PULUMI_HOME": str(home), **environment},
                stdout=output,
                check=True,
            )
        started.append(psutil.Process(int((tmp_path / "pid").read_text())))
        return started[-1]

    yield start
    for process in started:
        if process.is_running():
            process.kill()


def test_orphans_are_ended_and_everything_else_of_the_stack_lives_on(tmp_path, sleeper):
    home, other = tmp_path / "home", tmp_path / "other"
    gone = str(2**22 + 1)
    run = sleeper("pulumi", home, EKSAI_RUN=gone)
    provider = sleeper("pulumi-resource-kubernetes", home, EKSAI_RUN=gone)
    by_hand, editor = sleeper("pulumi", home), sleeper("editor", home, EKSAI_RUN=gone)
    stranger = sleeper("pulumi-resource-kubernetes", other, EKSAI_RUN=gone)

    assert end_orphans(home) == 2

    assert [one.is_running() for one in (run, provider, by_hand, editor, stranger)] == [False, False, True, True, True]
    assert {one.pid for one in processes_of(home)} == {by_hand.pid, editor.pid}
    assert end_orphans(home) == 0, "nothing is left to do"


class TestALock:
    @pytest.fixture
    def cloud(self, project):
        return LocalCloud(project, "dev")

    @pytest.fixture
    def lock(self, cloud):
        def write(text):
            folder = cloud.folder / "backend/.pulumi/locks/organization/toy/dev"
            folder.mkdir(parents=True)
            (folder / "0417.json").write_text(text)
            (folder / "0417.json.attrs").write_text("{}")
            return folder

        return write

    @pytest.mark.parametrize(
        "text",
        [json.dumps({"pid": 2**22 + 1}), json.dumps({"pid": os.getpid()}), "", "[]"],
        ids=["of nobody", "of this test", "empty", "no lock"],
    )
    def test_of_a_process_that_is_no_engine_any_more_is_removed(self, cloud, lock, text):
        folder = lock(text)

        found = LeftByKilledRuns(cloud.folder, cloud).clear_way("dev")

        assert found.locks == 1
        assert list(folder.iterdir()) == []

    def test_of_an_engine_that_lives_is_respected(self, cloud, lock, sleeper):
        engine = sleeper("pulumi", cloud.folder / "home")
        folder = lock(json.dumps({"pid": engine.pid}))

        with pytest.raises(StackLocked, match=f"pid {engine.pid}"):
            LeftByKilledRuns(cloud.folder, cloud).clear_way("dev")

        assert len(list(folder.iterdir())) == 2

    def test_of_an_engine_that_nobody_waits_for_is_removed_with_it(self, cloud, lock, sleeper):
        engine = sleeper("pulumi", cloud.folder / "home", EKSAI_RUN=str(2**22 + 1))
        lock(json.dumps({"pid": engine.pid}))

        found = LeftByKilledRuns(cloud.folder, cloud).clear_way("dev")

        assert (found.processes, found.locks) == (1, 1)
        assert not works_on(engine.pid, cloud.folder / "home")

    def test_on_aws_is_nobodys_but_its_holders(self, cloud, lock, tmp_path):
        folder = lock(json.dumps({"pid": 2**22 + 1}))

        assert not LeftByKilledRuns(tmp_path, None).clear_way("dev")
        assert len(list(folder.iterdir())) == 2, "it may be on another machine"


def test_what_must_be_refreshed_outlives_a_recovery_that_is_killed(tmp_path):
    script = (
        "import os, signal, sys; from pathlib import Path; from automation.recovery import LeftByKilledRuns\n"
        "left = LeftByKilledRuns(Path(sys.argv[1]), None)\n"
        "with left.turn(): left.note(['b', 'a']); os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", script, tmp_path], cwd=Path(__file__).parents[2], check=False)
    left = LeftByKilledRuns(tmp_path, None)

    assert killed.returncode == -signal.SIGKILL
    with left.turn():
        assert left.doubtful() == ["a", "b"]
        left.note(["c"])
    assert left.doubtful() == ["a", "b", "c"]
    left.forget()
    assert left.doubtful() == []


@pytest.mark.engine
@pytest.mark.slow
class TestThroughTheEngine:
    @pytest.fixture
    def open_stack(self, project):
        """Opens the stack `dev` of a small program, with a local cloud or, without, as if on AWS."""
        try:
            engine = find_engine()
        except EngineError as error:
            pytest.skip(str(error).splitlines()[0])
        cloud = LocalCloud(project, "dev")
        write_work_folder(project, "dev", cloud.work, foreign_secrets=True)

        def open_dev(*, on_aws):
            environment = cloud.environment(engine, 1)
            return Stack(project, "dev", engine, cloud.work, environment, Known(), None if on_aws else cloud)

        return open_dev

    def test_nothing_is_created_or_forgotten_on_aws_before_a_person_has_looked(self, project, open_stack):
        open_stack(on_aws=True).up()
        leave(project, pending("creating", resource(VPC, "network")))
        heard = []

        for operation in ("up", "destroy"):
            with pytest.raises(CreationsPending, match=r"ec2\.Vpc network"):
                getattr(open_stack(on_aws=True), operation)()
        planned = open_stack(on_aws=True).preview(heard.append)

        assert planned.is_unchanged
        assert any("ec2.Vpc network" in event.text for event in heard if isinstance(event, Message))

    @pytest.mark.parametrize("on_aws", [True, False])
    def test_what_has_no_place_is_dropped_and_what_was_changed_is_refreshed(self, project, open_stack, on_aws):
        made = open_stack(on_aws=on_aws).up()
        box = next(change.urn for change in made.resources if change.name == "box-0")
        known = next(one for one in open_stack(on_aws=on_aws).export()["deployment"]["resources"] if one["urn"] == box)
        leave(project, pending("creating", resource(PASSWORD, "password")), pending("updating", known))
        heard = []

        assert open_stack(on_aws=on_aws).up(heard.append).is_unchanged

        told = [event.text for event in heard if isinstance(event, Message) and "killed" in event.text]
        assert told == [str(Leftovers(dropped=1, refreshed=1))]
        assert not open_stack(on_aws=on_aws).export()["deployment"].get("pending_operations")
        assert not LeftByKilledRuns(project.root / ".local/dev/simulated", None).doubtful()


def leave(project, *operations):
    """Leaves pending operations in the backend, as an engine does that is killed."""
    checkpoint = project.root / ".local/dev/simulated/backend/.pulumi/stacks/toy/dev.json"
    content = json.loads(checkpoint.read_text())
    content["checkpoint"]["latest"]["pending_operations"] = operations
    checkpoint.write_text(json.dumps(content))
