"""A secret of AWS Secrets Manager as a Secret of one namespace."""

from collections.abc import Mapping

import pulumi
import pulumi_kubernetes as kubernetes
from typing_extensions import TypedDict

STORE = "aws"
"""Name of the ClusterSecretStore, which the platform makes."""


class DeliveredSecretArgs(TypedDict):
    """What a delivered secret needs."""

    source: pulumi.Input[str]
    """Its name in Secrets Manager, where it is JSON."""
    namespace: str
    """The Secret's namespace."""
    secret: str
    """The Secret's name."""
    keys: Mapping[str, str]
    """Keys of the Secret, and the keys of the JSON that they come from."""


class DeliveredSecret(pulumi.ComponentResource):
    """An ExternalSecret. It is ready once the Secret is there, so that whoever depends on it finds the Secret."""

    def __init__(self, name: str, args: DeliveredSecretArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:DeliveredSecret", name, {}, opts)
        kubernetes.apiextensions.CustomResource(
            name,
            api_version="external-secrets.io/v1",
            kind="ExternalSecret",
            metadata={
                "name": args["secret"],
                "namespace": args["namespace"],
                "annotations": {"pulumi.com/waitFor": "condition=Ready"},
            },
            spec={
                "refreshInterval": "1h",
                "secretStoreRef": {"kind": "ClusterSecretStore", "name": STORE},
                "target": {"name": args["secret"], "creationPolicy": "Owner"},
                "data": [
                    {"secretKey": key, "remoteRef": {"key": args["source"], "property": source}}
                    for key, source in args["keys"].items()
                ],
            },
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({})
