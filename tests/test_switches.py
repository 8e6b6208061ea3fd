"""Each system switched on or off, or changed, touches its own resources and nothing else.

In process the made-up values are the same in every run, so whatever differs between two stack files shows.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from automation.engine import find_engine
from automation.errors import EngineError
from automation.plan import make_plan
from automation.project import Project
from automation.results import Result
from automation.stacks import open_local
from localcloud.world import Registration
from tests.serving import IMAGE_AND_MODEL
from tools.scratch import ROOT, scratch_project

POOL = {
    "instanceTypes": ["g6.xlarge"],
    "ami": "bottlerocket@v1.66.0",
    "limits": {"cpu": "16", "memory": "64Gi", "accelerators": 4},
}

SMALL_NOTEBOOK = {
    "pools": ["general"],
    "cpuLimit": 4,
    "memoryLimit": "8Gi",
    "cpuGuarantee": 1,
    "memoryGuarantee": "4Gi",
}

SWITCHES: list[tuple[str, dict[str, Any], set[str], set[str]]] = [
    # (what, settings that turn it on, owners of what comes, resources that change)
    ("flow logs off", {"network": {"flowLogs": {"enabled": False}}}, {"FlowLogs"}, set()),
    (
        "a gateway in each zone",
        {"network": {"nat": "per-zone"}},
        {"Eip", "NatGateway"},
        {"network-private-us-west-2b"},
    ),
    (
        "pods in their own range",
        {"network": {"podCidr": "100.64.0.0/16"}},
        {"VpcIpv4CidrBlockAssociation", "Subnet", "RouteTableAssociation", "SecurityGroupIngressRule"},
        {"vpc-cni", "karpenter", "jupyterhub"},
    ),
    ("interface endpoints", {"network": {"interfaceEndpoints": ["sts", "sqs"]}}, {"ServiceEndpoints"}, set()),
    ("a repository", {"repositories": {"another": {}}}, {"Repository", "LifecyclePolicy"}, set()),
    (
        "the FSx driver",
        {"addons": {"aws-fsx-csi-driver": {"enabled": True}}},
        {"Addon", "Role", "RolePolicy"},
        set(),
    ),
    (
        "no EFS, and with it no notebooks and no data that Ray's pods share",
        {
            "addons": {"aws-efs-csi-driver": None},
            "storage": {"efs": None},
            "platform": {"jupyterhub": None},
            "jupyterhub": None,
        },
        {
            *("SharedFiles", "StorageClass", "Addon", "Role", "RolePolicyAttachment", "SharedVolume"),
            *("Jupyterhub", "Installation", "Namespace", "UserPoolClient", "Secret", "SecretVersion"),
        },
        {"ml-cluster"},
    ),
    (
        "sign-in by no user pool",
        {"signIn": None, "jupyterhub": {"auth": "dummy"}},
        {"UserPool", "DeliveredSecret", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ServiceAccount"},
        {"jupyterhub", "argo-workflows", "langfuse"},
    ),
    (
        "no vector search",
        {"milvus": None, "platform": {"milvus": None}},
        {"MilvusStorage", "Milvus", "Volume", "ClaimedVolume", "Namespace", "NetworkIsolation", "Installation"},
        set(),
    ),
    (
        "stores of AWS",
        {"langfuse": {"stores": "aws"}},
        {"Database", "Cache", "Volume", "ClaimedVolume", "DeliveredSecret"},
        {"langfuse", "isolation-of-langfuse"},
    ),
    (
        "a larger volume",
        {"milvus": {"etcdGib": 20}},
        set(),
        {f"milvus-data-milvus-etcd-0{part}" for part in ("", "-volume", "-claim")},
    ),
    (
        "data that is kept",
        {"dataProtection": None},
        set(),
        {"model-bucket", "argo-workflows-artifacts", "milvus", "langfuse", "gpunet-inference-app", "ml-pipeline"},
    ),
    ("no Ray cluster", {"rayClusters": None}, {"RayCluster", "SharedVolume"}, set()),
    ("no pipeline", {"mlPipeline": None}, {"MlPipeline"}, set()),
    ("an image and a model for GPUNet", {"gpunet": IMAGE_AND_MODEL}, {"Gpunet"}, set()),
    ("no GPUNet", {"gpunet": None}, {"Gpunet"}, set()),
    ("longer lives of artifacts", {"argoWorkflows": {"keepDays": 90}}, set(), {"argo-workflows-artifacts"}),
    ("another notebook", {"jupyterhub": {"profiles": {"cpu-large": SMALL_NOTEBOOK}}}, set(), {"jupyterhub"}),
    (
        "FSx for Lustre",
        {"addons": {"aws-fsx-csi-driver": {"enabled": True}}, "storage": {"lustre": {"zone": "us-west-2a"}}},
        {"Lustre", "StorageClass", "Addon", "Role", "RolePolicy"},
        set(),
    ),
    (
        "no metrics server, and with it nobody who scales GPUNet",
        {"addons": {"metrics-server": {"enabled": False}}, "gpunet": None},
        {"Addon", "Gpunet"},
        set(),
    ),
    ("another pool", {"nodePools": {"gpu-l4": POOL}}, {"NodePool", "EC2NodeClass"}, set()),
    ("a pinned add-on", {"addons": {"vpc-cni": {"version": "v1.22.4-eksbuild.3"}}}, set(), {"vpc-cni"}),
    ("longer logs", {"cluster": {"logRetentionDays": 365}}, set(), {"cluster-logs"}),
    ("more system nodes", {"systemNodes": {"desiredSize": 3}}, set(), {"system-nodes"}),
    ("larger pool", {"nodePools": {"gpu-a10g-inference-g5": {"weight": 10}}}, set(), {"gpu-a10g-inference-g5"}),
]


LIVE = {
    "pods in their own range",
    "interface endpoints",
    "FSx for Lustre",
    "another pool",
    "more system nodes",
    "an image and a model for GPUNet",
}
"""Switches that are tried on a live stack too, where a preview knows some values and not others."""


def merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in change.items():
        if value is None:
            # Back to what it is when nothing is said.
            result.pop(key, None)
            continue
        inner = base.get(key)
        both = isinstance(inner, dict) and isinstance(value, dict)
        result[key] = merged(inner, value) if both else value
    return result


def write(project: Project, *changes: Mapping[str, Any]) -> None:
    """Writes the dev stack's file anew with some changes."""
    content = yaml.safe_load(Project(ROOT).stack_file("dev").read_text(encoding="utf-8"))
    for change in changes:
        content["config"] = merged(content["config"], {f"eksai:{key}": value for key, value in change.items()})
    project.stack_file("dev").write_text(yaml.safe_dump(content), encoding="utf-8")


def resources(folder: Path, change: Mapping[str, Any]) -> dict[str, Registration]:
    folder.mkdir()
    project = scratch_project(folder)
    write(project, change)
    return {r.urn: r for r in make_plan(project, "dev").made}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Registration]:
    return resources(tmp_path_factory.mktemp("base") / "project", {})


def is_of(urn: str, owner: str) -> bool:
    """Whether a resource is of a type, or lies in a component of that type."""
    return f"{owner}::" in urn or f":{owner}$" in urn


def strangers(urns: Iterable[str], owners: set[str]) -> list[str]:
    return [urn for urn in urns if not any(is_of(urn, owner) for owner in owners)]


def changed(before: Registration, after: Registration) -> bool:
    return json.dumps(before.inputs, default=repr, sort_keys=True) != json.dumps(
        after.inputs, default=repr, sort_keys=True
    )


@pytest.mark.parametrize(("what", "change", "owners", "touched"), SWITCHES, ids=[s[0] for s in SWITCHES])
def test_a_switch_touches_its_own_resources_only(
    what: str,
    change: dict[str, Any],
    owners: set[str],
    touched: set[str],
    base: dict[str, Registration],
    tmp_path: Path,
):
    other = resources(tmp_path / "project", change)
    differing = base.keys() ^ other.keys()
    assert not strangers(differing, owners), f"{what} brings or takes what is not its own"
    kinds = {owner for urn in differing for owner in owners if is_of(urn, owner)}
    assert kinds == owners, f"{what} is expected to bring or take all of these"
    assert {other[urn].name for urn in base.keys() & other.keys() if changed(base[urn], other[urn])} == touched


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_on_a_live_stack_each_switch_on_and_off_previews_its_own_resources_only(tmp_path: Path):
    try:
        engine = find_engine()
    except EngineError as error:
        pytest.skip(str(error).splitlines()[0])
    project = scratch_project(tmp_path)

    def preview(*changes: Mapping[str, Any]) -> Result:
        write(project, *changes)
        with open_local(project, "dev", engine) as stack:
            return stack.preview()

    def hold(what: str, result: Result, owners: set[str], touched: set[str]) -> None:
        moved = [c.urn for c in result.resources if c.op in ("create", "delete", "replace")]
        assert not strangers(moved, owners), what
        updated = {c.name for c in result.resources if c.op == "update"}
        assert updated <= touched, what

    live = [switch for switch in SWITCHES if switch[0] in LIVE]
    assert len(live) == len(LIVE)
    with open_local(project, "dev", engine) as stack:
        stack.up()
        for what, change, owners, touched in live:
            hold(f"on: {what}", preview(change), owners, touched)
        # The pool stays when the rest goes: a pool's end is announced, not switched.
        write(project, *(change for _, change, _, _ in live))
        with open_local(project, "dev", engine) as all_on:
            all_on.up()
        for what, change, owners, touched in live:
            if "nodePools" in change:
                continue
            others = [other for _, other, _, _ in live if other is not change]
            hold(f"off: {what}", preview(*others), owners, touched)
