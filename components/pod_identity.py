"""An AWS identity for one service account, through EKS Pod Identity."""

from collections.abc import Mapping
from typing import NotRequired

import pulumi
import pulumi_aws as aws
from typing_extensions import TypedDict

from components.pod_role import make_pod_role


class PodIdentityArgs(TypedDict):
    """What a Pod Identity needs."""

    cluster_name: pulumi.Input[str]
    """The cluster's name."""
    namespace: str
    """Namespace of the service account."""
    service_account: str
    """The service account's name."""
    policies: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Inline policies (JSON) by name; ten kilobytes in all, an AWS limit."""


class PodIdentity(pulumi.ComponentResource):
    """An IAM role with its policies, and the association that hands it to a service account's pods."""

    def __init__(self, name: str, args: PodIdentityArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:PodIdentity", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        role_arn = make_pod_role(
            name,
            description=f"Pods of {args['namespace']}/{args['service_account']}",
            policies=args.get("policies", {}),
            managed_policy_arns=(),
            opts=child,
        )
        aws.eks.PodIdentityAssociation(
            name,
            cluster_name=args["cluster_name"],
            namespace=args["namespace"],
            service_account=args["service_account"],
            role_arn=role_arn,
            opts=child,
        )
        self.register_outputs({})
