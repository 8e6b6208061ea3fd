"""The base layer as one: settings in, flat outputs for the next layer out."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pulumi
from typing_extensions import TypedDict

from components.base.block_volumes import BlockVolumes, BlockVolumesArgs
from components.base.domain import DomainSettings, make_domain
from components.base.encryption import Encryption, EncryptionArgs, EncryptionSettings
from components.base.langfuse_stores import LangfuseStoresArgs, make_langfuse_stores
from components.base.milvus_stores import make_milvus_stores
from components.base.model_bucket import ModelBucket, ModelBucketArgs, ModelBucketSettings
from components.base.network import Network, NetworkArgs, NetworkSettings
from components.base.registry import Registry, RepositorySettings
from components.base.security_groups import SecurityGroups
from components.base.service_endpoints import ServiceEndpoints
from components.base.storage import StorageArgs, StorageSettings, make_storage
from components.base.user_pool import SignInSettings, UserPool, UserPoolArgs
from components.domain import Domain
from components.langfuse import LangfuseSettings
from components.sign_in import SignIn
from components.stack import StackFacts
from components.storage import Storage


class BaseSettings(TypedDict):
    """The sections of the settings that this layer takes."""

    network: NetworkSettings
    encryption: EncryptionSettings
    model_bucket: ModelBucketSettings
    repositories: Mapping[str, RepositorySettings]
    storage: StorageSettings
    domain: DomainSettings
    sign_in: SignInSettings
    langfuse: LangfuseSettings


@dataclass(frozen=True)
class Subnets:
    """Subnets by kind; each list has one id for each zone, in the order of the zones."""

    public: list[pulumi.Output[str]]
    private: list[pulumi.Output[str]]
    routed_private: list[pulumi.Output[str]]
    """The private subnets once their way out exists."""
    isolated: list[pulumi.Output[str]]
    """Empty where an existing network has none."""
    routed_pods: list[pulumi.Output[str]]
    """The pods' own subnets, empty where pods share the nodes'."""


@dataclass(frozen=True)
class BaseOutputs:
    """What later layers know of this one."""

    vpc_id: pulumi.Output[str]
    subnets: Subnets
    efa_security_group_id: pulumi.Output[str]
    key_arn: pulumi.Output[str]
    model_bucket: pulumi.Output[str]
    model_bucket_arn: pulumi.Output[str]
    repository_urls: dict[str, pulumi.Output[str]]
    storage: Storage
    domain: Domain | None
    """The domain that applications are published below; None for none."""
    sign_in: SignIn | None
    """Where people sign in; None for nowhere."""


def make_base(settings: BaseSettings, stack: StackFacts, opts: pulumi.ResourceOptions) -> BaseOutputs:
    """Makes the base layer.

    Args:
        settings: the layer's sections of the settings.
        stack: the stack.
        opts: carries the AWS provider.
    """
    region, account_id, cluster_name = stack.region, stack.account_id, stack.cluster_name
    key_arn = _key(settings["encryption"], stack, opts)
    vpc_id, subnets = _network(settings["network"], region, cluster_name, key_arn, opts)
    pod_cidr = settings["network"]["pod_cidr"]
    ranges = {"nodes": settings["network"]["cidr"], **({"pods": pod_cidr} if pod_cidr else {})}
    groups = SecurityGroups("security-groups", {"vpc_id": vpc_id, "cluster_name": cluster_name, "ranges": ranges}, opts)
    if settings["network"]["interface_endpoints"]:
        ServiceEndpoints(
            "endpoints",
            {
                "services": settings["network"]["interface_endpoints"],
                "region": region,
                "vpc_id": vpc_id,
                "subnet_ids": subnets.private,
                "security_group_id": groups.endpoints_id,
            },
            opts,
        )
    keep = stack.keeps_data
    bucket = ModelBucket("model-bucket", ModelBucketArgs(**settings["model_bucket"], key_arn=key_arn, keep=keep), opts)
    registry = Registry("registry", {"repositories": settings["repositories"], "key_arn": key_arn, "keep": keep}, opts)
    storage_args = StorageArgs(
        region=region,
        cluster_name=cluster_name,
        key_arn=key_arn,
        subnet_ids=dict(zip(settings["network"]["availability_zones"], subnets.private, strict=True)),
        nfs_security_group_id=groups.nfs_id,
        lustre_security_group_id=groups.lustre_id,
        bucket=bucket.bucket,
        keep=keep,
    )
    volumes_args = BlockVolumesArgs(
        claims=stack.volume_claims,
        zones=settings["network"]["availability_zones"],
        cluster_name=cluster_name,
        key_arn=key_arn,
        keep=keep,
    )
    langfuse_args = LangfuseStoresArgs(
        cluster_name=cluster_name,
        vpc_id=vpc_id,
        ranges=ranges,
        subnet_ids=subnets.isolated if len(subnets.isolated) > 1 else subnets.private,
        key_arn=key_arn,
        keep=keep,
    )
    storage = replace(
        make_storage(settings["storage"], storage_args, opts),
        block=BlockVolumes("volumes", volumes_args, opts).volumes if stack.volume_claims else {},
        milvus=make_milvus_stores({"cluster_name": cluster_name, "key_arn": key_arn, "keep": keep}, opts)
        if "milvus" in stack.installs
        else None,
        langfuse=make_langfuse_stores(settings["langfuse"], langfuse_args, opts)
        if "langfuse" in stack.installs
        else None,
    )
    user_pool_args = UserPoolArgs(
        **settings["sign_in"],
        region=region,
        account_id=account_id,
        cluster_name=cluster_name,
        key_arn=key_arn,
        domain=stack.domain,
        applications=stack.applications,
    )
    return BaseOutputs(
        vpc_id=vpc_id,
        subnets=subnets,
        efa_security_group_id=groups.efa_id,
        key_arn=key_arn,
        model_bucket=bucket.bucket,
        model_bucket_arn=bucket.arn,
        repository_urls=registry.repository_urls,
        storage=storage,
        domain=make_domain(settings["domain"], opts),
        sign_in=UserPool("user-pool", user_pool_args, opts).sign_in if settings["sign_in"]["enabled"] else None,
    )


def _key(settings: EncryptionSettings, stack: StackFacts, opts: pulumi.ResourceOptions) -> pulumi.Output[str]:
    """The ARN of the given key, or of one that is made."""
    if settings["key_arn"]:
        return pulumi.Output.from_input(settings["key_arn"])
    args = EncryptionArgs(
        **settings,
        region=stack.region,
        account_id=stack.account_id,
        cluster_name=stack.cluster_name,
        keep=stack.keeps_data,
    )
    return Encryption("encryption", args, opts).key_arn


def _network(
    settings: NetworkSettings, region: str, cluster_name: str, key_arn: pulumi.Output[str], opts: pulumi.ResourceOptions
) -> tuple[pulumi.Output[str], Subnets]:
    """The given network, or one that is made."""
    existing = settings["existing"]
    if existing:
        zones = settings["availability_zones"]

        def given(ids: Mapping[str, str]) -> list[pulumi.Output[str]]:
            return [pulumi.Output.from_input(ids[zone]) for zone in zones if zone in ids]

        private = given(existing["private_subnet_ids"])
        return pulumi.Output.from_input(existing["vpc_id"]), Subnets(
            public=given(existing["public_subnet_ids"]),
            private=private,
            routed_private=private,
            isolated=given(existing["isolated_subnet_ids"]),
            routed_pods=[],
        )
    args = NetworkArgs(**settings, region=region, cluster_name=cluster_name, key_arn=key_arn)
    network = Network("network", args, opts)
    return network.vpc_id, Subnets(
        public=network.public_subnet_ids,
        private=network.private_subnet_ids,
        routed_private=network.routed_private_subnet_ids,
        isolated=network.isolated_subnet_ids,
        routed_pods=network.routed_pod_subnet_ids,
    )
