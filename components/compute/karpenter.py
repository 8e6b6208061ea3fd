"""Karpenter: the controller that makes nodes for pending pods, and everything it needs in AWS."""

from collections.abc import Sequence
from pathlib import Path

import pulumi
import pulumi_aws as aws
from typing_extensions import TypedDict

from components.compute.interruption_queue import InterruptionQueue
from components.compute.node_role import make_node_role
from components.partition import dns_suffix_of, partition_of
from components.pod_identity import PodIdentity
from components.policy_document import from_file
from components.release import ChartSource, Release

HERE = Path(__file__).parent
NAMESPACE = "kube-system"
SERVICE_ACCOUNT = "karpenter"
_CRDS, _CONTROLLER = HERE / "charts" / "karpenter-crd.yaml", HERE / "charts" / "karpenter.yaml"
CHART_FILES = (_CRDS, _CONTROLLER)
"""The chart files of what is installed here."""


class KarpenterArgs(TypedDict):
    """What Karpenter needs."""

    cluster_name: str
    """The cluster's name."""
    cluster_endpoint: pulumi.Input[str]
    """Address of the API server."""
    region: str
    """AWS region."""
    account_id: str
    """The account."""
    key_arn: pulumi.Input[str]
    """Key of the interruption queue."""
    controller_after: Sequence[pulumi.Resource]
    """What the controller cannot start without: nodes to run on, DNS. All else is made beforehand."""
    charts: ChartSource
    """Where charts come from."""
    pods_have_own_subnets: bool
    """Whether a node's first interface carries no pods, so that fewer fit."""


class Karpenter(pulumi.ComponentResource):
    """The controller with its role and queue, and the role of the nodes that it makes.

    The nodes' instance profile is made here and named in every node class, so that Karpenter needs no right to
    make profiles and leaves none behind.
    """

    instance_profile: pulumi.Output[str]

    def __init__(self, name: str, args: KarpenterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:Karpenter", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        cluster_name = args["cluster_name"]
        node_role = make_node_role(f"{name}-nodes", args["region"], f"Karpenter's nodes of {cluster_name}", child)
        profile = aws.iam.InstanceProfile(f"{name}-nodes", role=node_role.name, opts=child)
        entry = aws.eks.AccessEntry(
            f"{name}-nodes", cluster_name=cluster_name, principal_arn=node_role.arn, type="EC2_LINUX", opts=child
        )
        queue = InterruptionQueue(
            f"{name}-interruptions", {"cluster_name": cluster_name, "key_arn": args["key_arn"]}, child
        )
        places: dict[str, pulumi.Input[str]] = {
            "partition": partition_of(args["region"]),
            "region": args["region"],
            "dns_suffix": dns_suffix_of(args["region"]),
            "account_id": args["account_id"],
            "cluster_name": cluster_name,
            "node_role_arn": node_role.arn,
            "queue_arn": queue.queue_arn,
            "key_arn": args["key_arn"],
        }
        identity = PodIdentity(
            name,
            {
                "cluster_name": cluster_name,
                "namespace": NAMESPACE,
                "service_account": SERVICE_ACCOUNT,
                "policies": {
                    "nodes": from_file(HERE / "policies" / "karpenter_nodes.json", places),
                    "discovery": from_file(HERE / "policies" / "karpenter_discovery.json", places),
                },
            },
            child,
        )
        charts = args["charts"]
        crds = Release(f"{name}-crd", {"chart_file": str(_CRDS), "charts": charts, "facts": {}}, child)
        Release(
            name,
            {
                "chart_file": str(_CONTROLLER),
                "charts": charts,
                "facts": {
                    "cluster_name": cluster_name,
                    "cluster_endpoint": args["cluster_endpoint"],
                    "interruption_queue": queue.queue_name,
                    "reserved_enis": "1" if args["pods_have_own_subnets"] else "0",
                },
            },
            # On the way down the controller ends its nodes, and for that it needs role, queue and entry to the last.
            pulumi.ResourceOptions(
                parent=self, depends_on=[crds, identity, queue, entry, profile, *args["controller_after"]]
            ),
        )
        self.instance_profile = profile.name
        self.register_outputs({"instance_profile": self.instance_profile})
