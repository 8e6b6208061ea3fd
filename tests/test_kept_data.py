"""Data outlives its stack where it is meant to: what stays is exactly that, and the next up goes on with it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from automation.engine import Engine, find_engine, find_kubernetes
from automation.errors import EngineError, NotAllKept, Protected
from automation.events import Resource
from automation.local import LocalCloud
from automation.project import Project
from automation.stacks import open_local
from localcloud.world import Registration
from tests.plans import planned
from tools.scratch import scratch_project

DATA = {
    "aws:cognito/userGroup:UserGroup",
    "aws:cognito/userPool:UserPool",
    "aws:ebs/volume:Volume",
    "aws:ecr/lifecyclePolicy:LifecyclePolicy",
    "aws:ecr/repository:Repository",
    "aws:efs/accessPoint:AccessPoint",
    "aws:efs/backupPolicy:BackupPolicy",
    "aws:efs/fileSystem:FileSystem",
    "aws:efs/fileSystemPolicy:FileSystemPolicy",
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation",
    "aws:fsx/lustreFileSystem:LustreFileSystem",
    "aws:kms/alias:Alias",
    "aws:kms/key:Key",
    "aws:rds/instance:Instance",
    "aws:rds/parameterGroup:ParameterGroup",
    "aws:rds/subnetGroup:SubnetGroup",
    "aws:s3/bucket:Bucket",
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls",
    "aws:s3/bucketPolicy:BucketPolicy",
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
    "aws:s3/bucketVersioning:BucketVersioning",
    "aws:secretsmanager/secret:Secret",
    "aws:secretsmanager/secretVersion:SecretVersion",
    "random:index/randomBytes:RandomBytes",
    "random:index/randomPassword:RandomPassword",
}
"""Types that hold data, or are set on what does."""

GROUND = {
    "aws:cloudwatch/logGroup:LogGroup",
    "aws:ec2/networkInterface:NetworkInterface",
    "aws:ec2/securityGroup:SecurityGroup",
    "aws:ec2/subnet:Subnet",
    "aws:ec2/vpc:Vpc",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
    "pulumi:providers:aws",
    "pulumi:providers:random",
}
"""What databases and Lustre lie in and write to, and through whom all is reached."""


def closure(resources: Mapping[str, Registration]) -> set[str]:
    """What is protected, but for the cluster, and what the engine keeps with it."""
    kept: set[str] = set()
    ahead = [urn for urn, resource in resources.items() if resource.protect and "eks:index:Cluster" not in urn]
    while ahead:
        urn = ahead.pop()
        if urn in resources and urn not in kept:
            kept.add(urn)
            resource = resources[urn]
            ahead += [resource.parent, resource.provider, *resource.dependencies]
    return kept


def types(urns: set[str]) -> set[str]:
    found = {Resource(urn) for urn in urns}
    return {resource.type for resource in found if not resource.is_grouping} | {
        resource.type for resource in found if resource.type.startswith("pulumi:providers:")
    }


def test_what_is_kept_stands_on_no_cluster():
    """The engine keeps what something protected depends on, by its parents' dependencies too."""
    kept = closure({resource.urn: resource for resource in planned("prod").resources})
    assert types(kept) <= DATA | GROUND
    assert types(kept) >= DATA


def test_a_stack_whose_data_goes_with_it_protects_nothing():
    assert not [resource.urn for resource in planned("dev").resources if resource.protect]


def test_every_store_of_a_stack_that_keeps_data_is_protected():
    resources = planned("prod").resources
    open_stores = [resource.urn for resource in resources if resource.type in DATA and not resource.protect]
    # What External Secrets hands to applications of the user pool goes with the clients.
    assert [urn for urn in open_stores if "UserPool" not in urn] == []


@pytest.fixture
def engine() -> Engine:
    try:
        return find_engine()
    except EngineError as error:
        pytest.skip(str(error).splitlines()[0])


def say(project: Project, stack: str, mode: str) -> None:
    """Lets a stack treat data so, and accounts like it; its cluster may be deleted."""
    file = project.stack_file(stack)
    text = file.read_text(encoding="utf-8").replace("    deletionProtection: true", "    deletionProtection: false")
    if mode == "delete":
        text = text.replace("deletionProtection: true", "deletionProtection: false")
    lines = [line for line in text.splitlines() if "eksai:dataProtection" not in line]
    file.write_text("\n".join([*lines, f"  eksai:dataProtection: {{mode: {mode}}}", ""]), encoding="utf-8")


def ids(state: dict[str, Any]) -> dict[str, str]:
    """The physical names of a state's resources."""
    return {entry["urn"]: entry["id"] for entry in state["deployment"]["resources"] if entry.get("id")}


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize(("name", "kubernetes"), [("prod", False), ("dev", True)], ids=["prod", "dev-real"])
def test_data_stays_is_found_again_and_goes_when_it_is_meant_to(
    tmp_path: Path, engine: Engine, name: str, kubernetes: bool
):
    if kubernetes:
        try:
            find_kubernetes()
        except EngineError as error:
            pytest.skip(str(error).splitlines()[0])
    project = scratch_project(tmp_path)
    say(project, name, "keep")
    cloud = LocalCloud(project, name, kubernetes=kubernetes)
    with cloud.running(), open_local(project, name, engine, kubernetes=kubernetes) as stack:
        stack.up()
        before = ids(stack.export())
        with pytest.raises(Protected, match="--keep-data"):
            stack.destroy()
        assert ids(stack.export()) == before, "nothing was deleted"

        gone = stack.destroy(keep_data=True)
        kept = ids(stack.export())
        assert gone.kept
        assert types(set(kept)) <= DATA | GROUND
        account = json.loads((cloud.folder / "cloud" / "account.json").read_text(encoding="utf-8"))
        left = {record["token"] for record in account["resources"]}
        assert left <= DATA | GROUND, "the account holds what the state does, and no more"
        assert {urn: before[urn] for urn in kept} == kept, "what is kept is what was there"

        again = stack.up()
        assert set(again.changes) <= {"create", "same"}, "nothing that was kept is changed or replaced"
        after = ids(stack.export())
        assert {urn: after[urn] for urn in kept} == kept
        assert stack.preview().is_unchanged
    say(project, name, "delete")
    with cloud.running(), open_local(project, name, engine, kubernetes=kubernetes) as stack:
        stack.up()
        with pytest.raises(NotAllKept):
            stack.destroy(keep_data=True)
        stack.destroy()
        assert cloud.status().resources == 0, "the account is empty"
