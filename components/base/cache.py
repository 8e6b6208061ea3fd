"""ElastiCache for Valkey."""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_aws as aws

from components.base.store_group import make_store_group
from components.langfuse import CacheSettings, Endpoint

_PORT = 6379
_FAMILY, _VERSION = "valkey8", "8.2"


class CacheArgs(CacheSettings):
    """What a cache needs."""

    cluster_name: str
    """Names follow from it."""
    vpc_id: pulumi.Input[str]
    """The VPC."""
    ranges: Mapping[str, str]
    """The VPC's IPv4 ranges that may reach it, by what they are for: `nodes`, `pods`."""
    subnet_ids: Sequence[pulumi.Input[str]]
    """Subnets that it lies in, of two zones at least where it has replicas."""
    key_arn: pulumi.Input[str]
    """Key that what it writes to disk is encrypted with."""
    password: pulumi.Input[str]
    """What clients say to be let in, written and never read. After a change the one before is taken too."""
    password_version: pulumi.Input[int]
    """Another number for another password."""


class Cache(pulumi.ComponentResource):
    """An encrypted Valkey that answers over TLS only, and only inside the VPC. It refuses writes when it is full.

    It is a queue and nothing is in it for long: Langfuse writes each event to S3 before it queues it. So it is never
    protected and never backed up; a queue from last night would do again what has been done.
    """

    endpoint: Endpoint
    """Where the primary node is reached, once it lets the VPC in."""

    def __init__(self, name: str, args: CacheArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:Cache", name, {}, opts)
        # Whatever its parent is.
        child = pulumi.ResourceOptions(parent=self, protect=False)
        cluster_name = args["cluster_name"]
        group_id = make_store_group(
            f"{name}-cache",
            vpc_id=args["vpc_id"],
            description=f"Valkey of {name} of {cluster_name}",
            group_name=f"{cluster_name}-{name}-cache",
            port=_PORT,
            ranges=args["ranges"],
            opts=child,
        )
        subnets = aws.elasticache.SubnetGroup(
            name, description=f"Valkey of {name} of {cluster_name}", subnet_ids=args["subnet_ids"], opts=child
        )
        parameters = aws.elasticache.ParameterGroup(
            name,
            family=_FAMILY,
            description=f"Valkey of {name} of {cluster_name}",
            # A job that is evicted is lost, and nobody is told.
            parameters=[{"name": "maxmemory-policy", "value": "noeviction"}],
            opts=child,
        )
        has_replicas = args["replicas"] > 0
        group = aws.elasticache.ReplicationGroup(
            name,
            description=f"Queue of {name} of {cluster_name}",
            engine="valkey",
            engine_version=_VERSION,
            # The provider makes a group anew whose version is above the one asked for, so nobody else raises it.
            auto_minor_version_upgrade=False,
            node_type=args["node_type"],
            num_cache_clusters=1 + args["replicas"],
            automatic_failover_enabled=has_replicas,
            multi_az_enabled=has_replicas,
            parameter_group_name=parameters.name,
            port=_PORT,
            subnet_group_name=subnets.name,
            security_group_ids=[group_id],
            transit_encryption_enabled=True,
            transit_encryption_mode="required",
            auth_token_wo=args["password"],
            auth_token_wo_version=args["password_version"],
            at_rest_encryption_enabled=True,
            kms_key_id=args["key_arn"],
            snapshot_retention_limit=0,
            apply_immediately=False,
            tags={"Name": f"{cluster_name}-{name}"},
            opts=child,
        )
        self.endpoint = Endpoint(group.primary_endpoint_address, _PORT)
        self.register_outputs({})
