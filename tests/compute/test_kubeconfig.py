"""The kubeconfig."""

import json
from typing import Any

import pytest

from components.compute.kubeconfig import kubeconfig


def content(role_arn: str | None = None) -> dict[str, Any]:
    text = kubeconfig(
        name="eksai-dev",
        region="us-west-2",
        endpoint="https://x.eks.amazonaws.com",
        certificate_authority="Q0E=",
        role_arn=role_arn,
    )
    return json.loads(text)


def test_it_points_at_the_cluster():
    (cluster,) = content()["clusters"]
    assert cluster["cluster"] == {"server": "https://x.eks.amazonaws.com", "certificate-authority-data": "Q0E="}


def test_it_holds_no_token_but_the_way_to_one():
    (user,) = content()["users"]
    assert set(user["user"]) == {"exec"}
    assert user["user"]["exec"]["args"][:6] == [
        "--region",
        "us-west-2",
        "eks",
        "get-token",
        "--cluster-name",
        "eksai-dev",
    ]


@pytest.mark.parametrize("role", [None, "arn:aws:iam::111122223333:role/Deployer"])
def test_who_deploys_under_a_role_talks_to_kubernetes_under_it(role: str | None):
    arguments = content(role)["users"][0]["user"]["exec"]["args"]
    assert ("--role-arn" in arguments) is (role is not None)
    assert (role in arguments) is (role is not None)


def test_its_context_is_complete():
    found = content()
    (context,) = found["contexts"]
    assert found["current-context"] == context["name"]
    assert context["context"] == {"cluster": found["clusters"][0]["name"], "user": found["users"][0]["name"]}
