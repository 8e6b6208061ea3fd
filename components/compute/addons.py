"""EKS add-ons: the parts of a cluster that AWS packages."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi
import pulumi_aws as aws
from typing_extensions import TypedDict

from components.compute.addon_facts import ADDONS, Identity, custom_networking
from components.partition import dns_suffix_of, managed_policy, partition_of
from components.pod_role import make_pod_role
from components.policy_document import from_file

POLICIES = Path(__file__).with_name("policies")


class AddonSettings(TypedDict):
    """One add-on."""

    enabled: bool | None
    """Whether it is installed; None for the platform's choice."""
    version: str | None
    """Exact version; None for EKS's default."""


class AddonsArgs(TypedDict):
    """What a set of add-ons needs."""

    cluster_name: str
    """The cluster's name."""
    region: str
    """AWS region."""
    account_id: str
    """The account."""
    key_arn: pulumi.Input[str]
    """Key of the volumes that drivers make."""
    model_bucket_arn: pulumi.Input[str]
    """Bucket that models are mounted from."""
    security_group_id: pulumi.Input[str]
    """The cluster's group, which pods with subnets of their own carry."""
    pod_subnet_ids: Mapping[str, pulumi.Input[str]]
    """The pods' own subnet of each zone; empty where they share the nodes'."""
    addons: Mapping[str, AddonSettings]
    """The add-ons to install, by name."""


class Addons(pulumi.ComponentResource):
    """Add-ons that can be installed side by side, each with its own identity where it calls AWS."""

    def __init__(self, name: str, args: AddonsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:Addons", name, {}, opts)
        self._args = args
        self._child = pulumi.ResourceOptions(parent=self)
        for addon, settings in args["addons"].items():
            identity = ADDONS[addon].identity
            aws.eks.Addon(
                addon,
                cluster_name=args["cluster_name"],
                addon_name=addon,
                addon_version=settings["version"],
                configuration_values=self._configuration(addon),
                pod_identity_associations=[
                    {"service_account": identity.service_account, "role_arn": self._role(addon, identity)}
                ]
                if identity
                else None,
                # A field that somebody changed by hand goes back to what is declared.
                resolve_conflicts_on_create="OVERWRITE",
                resolve_conflicts_on_update="OVERWRITE",
                opts=self._child,
            )
        self.register_outputs({})

    def _configuration(self, addon: str) -> pulumi.Input[str] | None:
        """The add-on's configuration as JSON, None where AWS's own stands."""
        values = ADDONS[addon].configuration
        if addon != "vpc-cni" or not self._args["pod_subnet_ids"]:
            return json.dumps(values) if values else None
        region = self._args["region"]

        def with_pod_subnets(known: dict[str, Any]) -> str:
            networking = custom_networking(region, known["group"], known["subnets"])
            return json.dumps({**values, **networking, "env": {**values["env"], **networking["env"]}})

        return pulumi.Output.all(
            group=self._args["security_group_id"], subnets=dict(self._args["pod_subnet_ids"])
        ).apply(with_pod_subnets)

    def _role(self, addon: str, identity: Identity) -> pulumi.Output[str]:
        """The ARN of the add-on's role."""
        region = self._args["region"]
        places: dict[str, pulumi.Input[str]] = {
            "partition": partition_of(region),
            "dns_suffix": dns_suffix_of(region),
            "region": region,
            "account_id": self._args["account_id"],
            "key_arn": self._args["key_arn"],
            "model_bucket_arn": self._args["model_bucket_arn"],
        }
        own = {"own": from_file(POLICIES / identity.policy_file, places)} if identity.policy_file else {}
        return make_pod_role(
            addon,
            description=f"Pods of kube-system/{identity.service_account}",
            policies=own,
            managed_policy_arns=[managed_policy(region, policy) for policy in identity.managed_policies],
            opts=self._child,
        )
