"""The charts that need more than their file: what is made for each beforehand, and the values that follow from it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from typing_extensions import TypedDict

from components.domain import Domain
from components.langfuse import LangfuseSettings
from components.milvus import MilvusSettings
from components.platform import external_dns
from components.platform.argo_workflows import ArgoWorkflows, ArgoWorkflowsArgs, ArgoWorkflowsSettings
from components.platform.jupyterhub import Jupyterhub, JupyterhubArgs, JupyterhubSettings
from components.platform.langfuse import Langfuse, LangfuseArgs
from components.platform.milvus import Milvus, MilvusArgs
from components.sign_in import SignIn
from components.stack import StackFacts
from components.storage import Storage


class SystemSettings(TypedDict):
    """The sections of the settings that are about one chart."""

    jupyterhub: JupyterhubSettings
    argo_workflows: ArgoWorkflowsSettings
    milvus: MilvusSettings
    langfuse: LangfuseSettings


@dataclass(frozen=True)
class SystemInputs:
    """What systems know of the rest of the stack."""

    stack: StackFacts
    """The stack, as its settings say."""
    opts: pulumi.ResourceOptions
    """Carries the providers of AWS and of the cluster."""
    key_arn: pulumi.Input[str]
    """Key that everything is encrypted with."""
    storage: Storage
    storage_classes: pulumi.Resource
    """The classes that claims of volumes name."""
    sign_in: SignIn | None
    """Where people sign in; None for nowhere."""
    domain: Domain | None
    """The domain that applications are published below; None for none."""
    installed: Mapping[str, pulumi.Resource]
    """The releases so far, by chart: of each chart those that it needs are among them."""

    def after(self, resources: Sequence[pulumi.Resource]) -> pulumi.ResourceOptions:
        """The providers, for what comes after some resources."""
        return pulumi.ResourceOptions.merge(self.opts, pulumi.ResourceOptions(depends_on=list(resources)))


@dataclass(frozen=True)
class Prepared:
    """What was made for a chart before its release."""

    values: Mapping[str, Any]
    """Helm values laid over those of the chart file."""
    made: Sequence[pulumi.Resource] = ()
    """What the release comes after."""
    bucket: pulumi.Output[str] | None = None
    """The bucket that it keeps things in."""


Prepare = Callable[[SystemSettings, SystemInputs, Sequence[pulumi.Resource]], Prepared]
"""From the sections of the settings and the rest of the stack, after what is made in the cluster beforehand."""


def _jupyterhub(settings: SystemSettings, inputs: SystemInputs, before: Sequence[pulumi.Resource]) -> Prepared:
    args = JupyterhubArgs(
        **settings["jupyterhub"],
        pools=inputs.stack.pools,
        storage=inputs.storage,
        sign_in=inputs.sign_in,
        domain=inputs.domain,
        node_ranges=inputs.stack.node_ranges,
        pod_ranges=inputs.stack.pod_ranges,
        image_registry=inputs.stack.charts.image_registry,
    )
    made = Jupyterhub("jupyterhub", args, inputs.after(before))
    # The hub's own claim and those of homes find their classes.
    return Prepared(made.values, [made, inputs.storage_classes])


def _argo_workflows(settings: SystemSettings, inputs: SystemInputs, before: Sequence[pulumi.Resource]) -> Prepared:
    args = ArgoWorkflowsArgs(
        **settings["argo_workflows"],
        cluster_name=inputs.stack.cluster_name,
        region=inputs.stack.region,
        key_arn=inputs.key_arn,
        domain=inputs.domain,
        sign_in=inputs.sign_in,
        keep=inputs.stack.keeps_data,
        after=before,
    )
    made = ArgoWorkflows("argo-workflows", args, inputs.opts)
    return Prepared(made.values, [made], made.bucket)


def _external_dns(settings: SystemSettings, inputs: SystemInputs, before: Sequence[pulumi.Resource]) -> Prepared:
    assert inputs.domain is not None, "the settings ask for a domain beside the chart"
    return Prepared(external_dns.values(inputs.domain))


def _milvus(settings: SystemSettings, inputs: SystemInputs, before: Sequence[pulumi.Resource]) -> Prepared:
    assert inputs.storage.milvus is not None, "whoever has Milvus has its stores"
    args = MilvusArgs(
        **settings["milvus"],
        cluster_name=inputs.stack.cluster_name,
        region=inputs.stack.region,
        key_arn=inputs.key_arn,
        stores=inputs.storage.milvus,
        stack_pools=inputs.stack.pools,
    )
    made = Milvus("milvus", args, inputs.after(before))
    return Prepared(made.values, [made])


def _langfuse(settings: SystemSettings, inputs: SystemInputs, before: Sequence[pulumi.Resource]) -> Prepared:
    assert inputs.storage.langfuse is not None, "whoever has Langfuse has its stores"
    args = LangfuseArgs(
        **settings["langfuse"],
        cluster_name=inputs.stack.cluster_name,
        region=inputs.stack.region,
        key_arn=inputs.key_arn,
        storage=inputs.storage.langfuse,
        stack_pools=inputs.stack.pools,
        sign_in=inputs.sign_in,
        domain=inputs.domain,
        node_ranges=inputs.stack.node_ranges,
        image_registry=inputs.stack.charts.image_registry,
    )
    # Who makes its ClickHouse.
    operator = inputs.installed["clickhouse-operator-helm"]
    made = Langfuse("langfuse", args, inputs.after([*before, operator]))
    return Prepared(made.values, [made])


SYSTEMS: Mapping[str, Prepare] = {
    "jupyterhub": _jupyterhub,
    "argo-workflows": _argo_workflows,
    "milvus": _milvus,
    "langfuse": _langfuse,
    "external-dns": _external_dns,
}
"""By chart, what makes what it needs."""
