"""A bound on the rights of every role, whoever makes it: also of roles inside other packages' components."""

import pulumi

ROLE = "aws:iam/role:Role"


def bound_roles(boundary_arn: str) -> pulumi.ResourceTransform:
    """A transform of the whole stack that gives every role a permissions boundary.

    Args:
        boundary_arn: ARN of the policy that is the bound.
    """

    def bound(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult | None:
        if args.type_ != ROLE:
            return None
        return pulumi.ResourceTransformResult({**args.props, "permissionsBoundary": boundary_arn}, args.opts)

    return bound
