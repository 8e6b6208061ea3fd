"""Where External Secrets reads from."""

import pulumi
import pulumi_kubernetes as kubernetes
from typing_extensions import TypedDict

from components.delivered_secret import STORE


class SecretStoreArgs(TypedDict):
    """What the store needs."""

    region: str
    """AWS region of the secrets."""


class SecretStore(pulumi.ComponentResource):
    """AWS Secrets Manager as a store for all namespaces.

    It names no credentials: External Secrets' own, from Pod Identity, count, and they reach the cluster's secrets only.
    """

    def __init__(self, name: str, args: SecretStoreArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:SecretStore", name, {}, opts)
        kubernetes.apiextensions.CustomResource(
            name,
            api_version="external-secrets.io/v1",
            kind="ClusterSecretStore",
            metadata={"name": STORE, "annotations": {"pulumi.com/waitFor": "condition=Ready"}},
            spec={"provider": {"aws": {"service": "SecretsManager", "region": args["region"]}}},
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({})
