"""What a node is told at boot: EKS and Karpenter merge it with what they tell every node themselves.

Most of it is for managed nodes only: Karpenter writes it by itself from `kubelet` and `instanceStorePolicy`.
"""

import base64
import json

from components.gpu_sharing import TIME_SLICING, Sharing

_BOUNDARY = "eksai-node"
_NVME_FOLDERS = ("/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods")
"""What Karpenter too puts on the striped disks of a Bottlerocket node."""


def user_data(family: str, *, raid0: bool, max_pods: int | None, sharing: Sharing | None) -> str | None:
    """The user data of a launch template, base64; None where there is nothing to say.

    Args:
        family: image family, `bottlerocket` (TOML) or `al2023` (a nodeadm document in MIME).
        raid0: whether images and containers go on the instance's NVMe disks, striped.
        max_pods: most pods on a node, None for what EKS finds out.
        sharing: how pods share a GPU, None for not at all.
    """
    if family == "bottlerocket":
        text = _bottlerocket(raid0, max_pods) + (sharing_settings(family, sharing) or "")
    else:
        text = _nodeadm(raid0, max_pods) if raid0 or max_pods is not None else ""
    return base64.b64encode(text.encode()).decode() if text else None


def sharing_settings(family: str, sharing: Sharing | None) -> str | None:
    """What an image that runs the device plug-in itself is told of sharing; None where there is nothing to say.

    Elsewhere the plug-in runs in a pod, and takes the config that the node's label names.

    Args:
        family: image family.
        sharing: how pods share a GPU, None for not at all; Bottlerocket's cannot be partitioned.
    """
    if family != "bottlerocket" or sharing is None:
        return None
    strategy = sharing["strategy"]
    lines = [
        "[settings.kubelet-device-plugins.nvidia]",
        f"device-sharing-strategy = {json.dumps(strategy)}",
        f"[settings.kubelet-device-plugins.nvidia.{strategy}]",
        f"replicas = {sharing['replicas']}",
        "rename-by-default = true",
    ]
    if strategy == TIME_SLICING:
        # Under MPS the plug-in refuses requests for several shares in any case.
        lines.append("fail-requests-greater-than-one = true")
    return _joined(lines)


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _bottlerocket(raid0: bool, max_pods: int | None) -> str:
    lines: list[str] = []
    if max_pods is not None:
        lines += ["[settings.kubernetes]", f"max-pods = {max_pods}"]
    if raid0:
        bind = ["apiclient", "ephemeral-storage", "bind", "--dirs", *_NVME_FOLDERS]
        commands = json.dumps([["apiclient", "ephemeral-storage", "init"], bind])
        lines += [
            "[settings.bootstrap-commands.instance-store]",
            f"commands = {commands}",
            'mode = "always"',
            "essential = true",
        ]
    return _joined(lines)


def _nodeadm(raid0: bool, max_pods: int | None) -> str:
    spec: dict[str, object] = {}
    if max_pods is not None:
        spec["kubelet"] = {"config": {"maxPods": max_pods}}
    if raid0:
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
    # JSON is YAML too, and nothing has to be quoted by hand.
    document = json.dumps({"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec})
    return "\n".join(
        [
            "MIME-Version: 1.0",
            f'Content-Type: multipart/mixed; boundary="{_BOUNDARY}"',
            "",
            f"--{_BOUNDARY}",
            "Content-Type: application/node.eks.aws",
            "",
            document,
            f"--{_BOUNDARY}--",
            "",
        ]
    )
