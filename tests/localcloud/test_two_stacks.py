"""Two stacks in one account, and a stack whose name is as long as a name can be."""

from pathlib import Path

import pytest
import yaml

from automation.plan import make_plan
from localcloud.account import Account
from localcloud.errors import AwsError
from localcloud.process import CloudProcess
from localcloud.registration import Registration
from localcloud.rehearsal import Stage
from tests.plans import planned
from tools.scratch import ROOT, scratch_project

PIPELINE = {"enabled": True, "repository": "research/pipeline", "pools": ["general"], "rayPools": ["general"]}
LONG = "research-platform-of-the-vision-team-two"


def resources(folder: Path, stack: str, **other: object) -> tuple[Registration, ...]:
    """What the dev stack registers under another name, with other settings."""
    project = scratch_project(folder)
    file = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8"))
    file["config"].update({f"eksai:{key}": value for key, value in other.items()})
    (folder / f"Pulumi.{stack}.yaml").write_text(yaml.safe_dump(file), encoding="utf-8")
    return make_plan(project, stack).resources


def urns(resources: tuple[Registration, ...]) -> list[str]:
    return [resource.urn for resource in resources]


def test_two_stacks_live_in_one_account_and_leave_nothing_behind(tmp_path):
    assert len(LONG) == 40
    account = Account(None)
    dev = planned("dev").resources
    other = resources(
        tmp_path,
        LONG,
        repositories={"research/gpunet": {}, "research/pipeline": {}},
        mlPipeline={"repository": "research/pipeline"},
        gpunet={"repository": "research/gpunet"},
    )
    for stack in (dev, other):
        Stage(stack, account).make(urns(stack))
    for stack in (dev, other):
        Stage(stack, account).delete(urns(stack)[::-1])
    assert account.records() == []


def test_a_repository_that_both_stacks_name_is_refused(tmp_path):
    account = Account(None)
    dev = planned("dev").resources
    other = resources(tmp_path, "two")
    Stage(dev, account).make(urns(dev))
    with pytest.raises(AwsError, match="RepositoryAlreadyExistsException"):
        Stage(other, account).make(urns(other))


def test_one_process_serves_a_folder_however_many_stacks_ask(tmp_path):
    first, second = CloudProcess(tmp_path), CloudProcess(tmp_path)
    port = first.start()
    try:
        assert second.start() == port
    finally:
        first.stop()
