"""AWS services inside the VPC: interface endpoints, so that calls neither leave it nor pass NAT."""

from collections.abc import Sequence

import pulumi
import pulumi_aws as aws
from typing_extensions import TypedDict


class ServiceEndpointsArgs(TypedDict):
    """What the endpoints need."""

    services: Sequence[str]
    """Services by the last part of their endpoint's name, for example `ecr.dkr`."""
    region: str
    """AWS region."""
    vpc_id: pulumi.Input[str]
    """The VPC."""
    subnet_ids: Sequence[pulumi.Input[str]]
    """A subnet in each zone that shall reach them there."""
    security_group_id: pulumi.Input[str]
    """Group that opens HTTPS to the VPC."""


class ServiceEndpoints(pulumi.ComponentResource):
    """One interface endpoint a service, which answers under the service's own name."""

    def __init__(self, name: str, args: ServiceEndpointsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:ServiceEndpoints", name, {}, opts)
        for service in args["services"]:
            aws.ec2.VpcEndpoint(
                f"{name}-{service}",
                vpc_id=args["vpc_id"],
                service_name=f"com.amazonaws.{args['region']}.{service}",
                vpc_endpoint_type="Interface",
                subnet_ids=list(args["subnet_ids"]),
                security_group_ids=[args["security_group_id"]],
                private_dns_enabled=True,
                tags={"Name": f"{name}-{service}"},
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.register_outputs({})
