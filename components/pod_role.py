"""A role that pods take on through the Pod Identity agent."""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_aws as aws

from components.policy_document import trust
from components.readiness import once

TRUST = trust("pods.eks.amazonaws.com", ("sts:AssumeRole", "sts:TagSession"))
"""TagSession carries cluster, namespace and service account as tags."""


def make_pod_role(
    name: str,
    *,
    description: str,
    policies: Mapping[str, pulumi.Input[str]],
    managed_policy_arns: Sequence[str],
    opts: pulumi.ResourceOptions,
) -> pulumi.Output[str]:
    """Makes a role with its policies.

    Args:
        name: logical name.
        description: whose role it is.
        policies: inline policies (JSON) by name; ten kilobytes in all, an AWS limit.
        managed_policy_arns: ARNs of managed policies.
        opts: carries the parent.

    Returns:
        The role's ARN, known once its permissions are complete.
    """
    role = aws.iam.Role(name, assume_role_policy=TRUST, description=description, opts=opts)
    granted = [
        aws.iam.RolePolicy(f"{name}-{policy}", role=role.name, policy=text, opts=opts).id
        for policy, text in policies.items()
    ]
    granted += [
        aws.iam.RolePolicyAttachment(f"{name}-{arn.rpartition('/')[2]}", role=role.name, policy_arn=arn, opts=opts).id
        for arn in managed_policy_arns
    ]
    return once(role.arn, *granted)
