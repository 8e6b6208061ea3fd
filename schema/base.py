"""Settings of the account and of the base layer."""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network
from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic.alias_generators import to_camel

from components.base.cidr import MAX_ZONES, check_pod_cidr
from schema.fields import (
    AccountId,
    BucketName,
    KeyArn,
    PolicyArn,
    Region,
    RoleArn,
    Section,
    SubnetId,
    TagKey,
    TagValue,
    VpcCidr,
    VpcId,
    Zone,
    refuse,
)
from schema.problems import Problem

RetentionDays = Literal[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 3653]
"""What CloudWatch Logs accepts as retention, days."""

EndpointService = Literal[
    "autoscaling",
    "bedrock-runtime",
    "ec2",
    "ecr.api",
    "ecr.dkr",
    "eks",
    "eks-auth",
    "elasticfilesystem",
    "elasticloadbalancing",
    "kms",
    "logs",
    "monitoring",
    "secretsmanager",
    "sqs",
    "ssm",
    "sts",
]


SHARED_ADDRESSES = IPv4Network("100.64.0.0/10")
"""Addresses shared by providers behind NAT (RFC 6598)."""


class Aws(Section):
    """Where the stack lives, and what an organisation asks of everything in it."""

    region: Region
    """AWS region, for example us-west-2."""
    account_id: AccountId
    """The account; a deployment with credentials of another one is refused. Quote it."""
    role_arn: RoleArn | None = None
    """Role to assume for the deployment; left out: the caller's own."""
    tags: dict[TagKey, TagValue] = {}
    """Tags on every AWS resource, beside those that eksai sets."""
    permissions_boundary_arn: PolicyArn | None = None
    """Policy that bounds the rights of every role that is made."""


class FlowLogs(Section):
    """The record of connections in the VPC."""

    enabled: bool = True
    """Whether connections are recorded."""
    retention_days: RetentionDays = 90
    """Days that the record is kept."""


class ExistingNetwork(Section):
    """A VPC that somebody else has made; each map has a subnet for every zone of availabilityZones."""

    vpc_id: VpcId
    """The VPC."""
    public_subnet_ids: dict[Zone, SubnetId] = {}
    """Public subnet of each zone; none where load balancers are internal only."""
    private_subnet_ids: dict[Zone, SubnetId]
    """Private subnet of each zone, with a way out."""
    isolated_subnet_ids: dict[Zone, SubnetId] = {}
    """Isolated subnet of each zone, for databases."""


class Network(Section):
    """The VPC and its subnets."""

    cidr: VpcCidr = "192.168.0.0/16"
    """The VPC's IPv4 range; of an existing network too."""
    availability_zones: Annotated[tuple[Zone, ...], Field(min_length=2, max_length=MAX_ZONES)]
    """Two to four zones by name; their order decides the addresses, so append, never reorder."""
    nat: Literal["single", "per-zone"] = "single"
    """One NAT gateway for all zones, or one in each: dearer, and no zone depends on another."""
    pod_cidr: str | None = None
    """Secondary range within 100.64.0.0/10 that pods get their addresses from; left out: from the nodes' subnets."""
    interface_endpoints: tuple[EndpointService, ...] = ()
    """AWS services that are reached inside the VPC; each costs by zone and hour. S3 always is, for nothing."""
    flow_logs: FlowLogs = FlowLogs()
    """The record of connections."""
    existing: ExistingNetwork | None = None
    """A network to use instead of making one."""

    @model_validator(mode="after")
    def _pods_have_a_range_of_their_own(self) -> "Network":
        if self.pod_cidr is None:
            return self
        try:
            network = check_pod_cidr(self.pod_cidr, self.cidr)
        except ValueError as error:
            raise refuse(f"podCidr: {error}", "for example 100.64.0.0/16") from error
        if not network.subnet_of(SHARED_ADDRESSES):
            raise refuse(
                f"podCidr lies in {SHARED_ADDRESSES}: AWS adds it to any VPC, and no office network uses it",
                "for example 100.64.0.0/16",
            )
        return self

    @model_validator(mode="after")
    def _an_existing_network_is_complete_and_left_alone(self) -> "Network":
        if self.existing is None:
            return self
        made_with = {"nat", "pod_cidr", "flow_logs"} & self.model_fields_set
        if made_with:
            raise refuse(
                f"{', '.join(sorted(map(to_camel, made_with)))} shape a network that is made, not an existing one",
                "leave them out beside existing",
            )
        for key in ("public_subnet_ids", "private_subnet_ids", "isolated_subnet_ids"):
            ids: dict[str, str] = getattr(self.existing, key)
            if set(ids) != set(self.availability_zones) and (ids or key == "private_subnet_ids"):
                raise refuse(
                    f"existing.{to_camel(key)} names one subnet in each zone of availabilityZones",
                    f"zones are {', '.join(self.availability_zones)}",
                )
        return self


class Encryption(Section):
    """The customer-managed key."""

    key_arn: KeyArn | None = None
    """A key to use instead of making one; docs/base.md says what its policy must allow."""
    deletion_window_days: Annotated[int, Field(ge=7, le=30)] = 30
    """Days between the key's removal and its end, in which it can be brought back."""


class Repository(Section):
    """A repository for images."""

    keep_images: Annotated[int, Field(ge=2, le=1000)] = 30
    """Images to keep; older ones go, so that with one alone the next push would take away what runs."""
    untagged_days: Annotated[int, Field(ge=1)] = 7
    """Days that an image without a tag is kept."""


def missing_repository(key: str, name: str, repositories: Mapping[str, Repository]) -> Iterator[Problem]:
    """What is wrong with the repository of a workload's image where the stack has none of that name.

    Args:
        key: its key in the stack file.
        name: the repository.
        repositories: the stack's repositories.
    """
    if name not in repositories:
        rule = "its image comes from a repository of eksai:repositories"
        yield Problem(key, name, rule, f"add the line {name}: {{}} there")


class ModelBucket(Section):
    """The bucket that models are served from."""

    name: BucketName | None = None
    """The bucket's name; left out: a generated one."""
    noncurrent_days: Annotated[int, Field(ge=1)] = 14
    """Days that an overwritten or deleted object is kept."""
    abort_upload_days: Annotated[int, Field(ge=1)] = 7
    """Days after which an unfinished multipart upload is removed."""
