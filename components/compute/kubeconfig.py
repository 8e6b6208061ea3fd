"""The kubeconfig of a cluster: no token in it, the AWS CLI fetches one at each use."""

import json
from typing import Any


def kubeconfig(*, name: str, region: str, endpoint: str, certificate_authority: str, role_arn: str | None) -> str:
    """A kubeconfig as JSON text.

    Args:
        name: the cluster's name.
        region: AWS region.
        endpoint: address of the API server.
        certificate_authority: its certificate, base64.
        role_arn: role to take on for the token, None for the caller's own: what deploys to AWS under a role must
            speak to Kubernetes under the same one.
    """
    arguments = ["--region", region, "eks", "get-token", "--cluster-name", name, "--output", "json"]
    if role_arn:
        arguments += ["--role-arn", role_arn]
    login: dict[str, Any] = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "aws",
        "args": arguments,
        "interactiveMode": "Never",
    }
    server = {"server": endpoint, "certificate-authority-data": certificate_authority}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": server}],
        "users": [{"name": name, "user": {"exec": login}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return json.dumps(content)
