"""A bound on the rights of every role."""

import pulumi

from components.permissions_boundary import bound_roles

BOUNDARY = "arn:aws:iam::111122223333:policy/Boundary"


def bounded(type_: str) -> pulumi.ResourceTransformResult | None:
    args = pulumi.ResourceTransformArgs(True, type_, "name", {"description": "d"}, pulumi.ResourceOptions())
    return bound_roles(BOUNDARY)(args)  # type: ignore[return-value]


def test_a_role_is_bound_and_keeps_what_it_had():
    result = bounded("aws:iam/role:Role")
    assert result is not None
    assert result.props == {"description": "d", "permissionsBoundary": BOUNDARY}


def test_nothing_else_is_touched():
    assert bounded("aws:iam/policy:Policy") is None
