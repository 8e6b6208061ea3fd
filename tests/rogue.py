"""The real program with two mistakes added to it, which policies must refuse wherever it runs."""

from pathlib import Path

from automation.project import PROJECT_FILE, Project
from tools.scratch import ROOT, scratch_project

RULES = {"accelerator-pools-tainted-and-limited", "node-volumes-encrypted"}
"""The rules that the two mistakes break."""

UNTAINTED = """
import pulumi_kubernetes as kubernetes
kubernetes.apiextensions.CustomResource(
    "rogue",
    api_version="karpenter.sh/v1",
    kind="NodePool",
    metadata={"name": "rogue"},
    spec={
        "template": {
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "gpu-a10g-inference-g5"},
                "requirements": [
                    {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g5.xlarge"]}
                ],
            }
        }
    },
    opts=pulumi.ResourceOptions(provider=compute.kubernetes),
)
"""

UNENCRYPTED = """
import pulumi_aws as aws
aws.ec2.LaunchTemplate(
    "rogue",
    metadata_options={"http_tokens": "required", "http_put_response_hop_limit": 1},
    block_device_mappings=[{"device_name": "/dev/xvda", "ebs": {"volume_size": 20, "encrypted": "false"}}],
    opts=pulumi.ResourceOptions(provider=provider),
)
"""


def rogue_project(folder: Path) -> Project:
    """Makes a project in an empty folder whose program makes an untainted GPU pool and an unencrypted volume."""
    project = scratch_project(folder)
    program = folder / "program"
    program.mkdir()
    text = (ROOT / "__main__.py").read_text(encoding="utf-8")
    (program / "__main__.py").write_text(text + UNTAINTED + UNENCRYPTED, encoding="utf-8")
    file = folder / PROJECT_FILE
    file.write_text(file.read_text(encoding="utf-8").replace(f"main: {ROOT}", f"main: {program}"), encoding="utf-8")
    return project
