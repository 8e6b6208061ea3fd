"""The VPC: subnets in two to four zones, the ways in and out, and AWS's services without a detour."""

from collections.abc import Sequence

import pulumi
import pulumi_aws as aws
from typing_extensions import TypedDict

from components.base.cidr import pod_subnets, subnets
from components.base.flow_logs import FlowLogs, FlowLogsSettings
from components.readiness import once


class ExistingNetwork(TypedDict):
    """A VPC that somebody else has made, by ids."""

    vpc_id: str
    """The VPC."""
    public_subnet_ids: dict[str, str]
    """Public subnet of each zone."""
    private_subnet_ids: dict[str, str]
    """Private subnet of each zone, with a way out."""
    isolated_subnet_ids: dict[str, str]
    """Isolated subnet of each zone, empty where there are none."""


class NetworkSettings(TypedDict):
    """The plain part of `NetworkArgs`."""

    cidr: str
    """The VPC's IPv4 range."""
    availability_zones: Sequence[str]
    """Zones by name; their order decides the addresses."""
    nat: str
    """`single`: one NAT gateway for all zones; `per-zone`: one in each."""
    pod_cidr: str | None
    """Secondary range that pods get their addresses from; None: pods share the nodes' subnets."""
    interface_endpoints: Sequence[str]
    """AWS services that are reached inside the VPC, by the last part of their endpoint's name."""
    flow_logs: FlowLogsSettings
    """The record of connections."""
    existing: ExistingNetwork | None
    """A network to use instead of making one."""


class NetworkArgs(NetworkSettings):
    """What a network needs."""

    region: str
    """AWS region; it names endpoints."""
    cluster_name: str
    """The cluster that the network is for; names follow from it."""
    key_arn: pulumi.Input[str]
    """Key of the flow log."""


class Network(pulumi.ComponentResource):
    """A VPC with public, private and isolated subnets, and pod subnets where a range for them is given.

    Private subnets reach the internet through NAT and S3 through a gateway endpoint; isolated ones reach neither.
    """

    vpc_id: pulumi.Output[str]
    public_subnet_ids: list[pulumi.Output[str]]
    private_subnet_ids: list[pulumi.Output[str]]
    isolated_subnet_ids: list[pulumi.Output[str]]
    routed_private_subnet_ids: list[pulumi.Output[str]]
    """The private subnets once their way out exists: what nodes wait for and the control plane does not."""
    routed_pod_subnet_ids: list[pulumi.Output[str]]
    """The pods' subnets once their way out exists; empty where pods share the nodes' subnets."""

    def __init__(self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:Network", name, {}, opts)
        self._name = name
        self._child = pulumi.ResourceOptions(parent=self)
        zones = args["availability_zones"]
        layout = subnets(args["cidr"], len(zones))
        tags = {"Name": args["cluster_name"]}

        self._vpc = vpc = aws.ec2.Vpc(
            name,
            cidr_block=args["cidr"],
            enable_dns_hostnames=True,
            enable_dns_support=True,
            tags=tags,
            opts=self._child,
        )
        # AWS's own default group lets every member reach every other; nothing of ours uses it, so it allows nothing.
        aws.ec2.DefaultSecurityGroup(f"{name}-default", vpc_id=vpc.id, opts=self._child)
        gateway = aws.ec2.InternetGateway(name, vpc_id=vpc.id, tags=tags, opts=self._child)

        public = [
            self._subnet(f"public-{zone}", zone, blocks.public, {"kubernetes.io/role/elb": "1"})
            for zone, blocks in zip(zones, layout, strict=True)
        ]
        public_table = self._route_table("public")
        to_internet = self._way_out("public", public_table, gateway_id=gateway.id)
        public_ways = [
            self._associate(f"public-{zone}", public_table, subnet) for zone, subnet in zip(zones, public, strict=True)
        ]
        gateways = [
            self._nat(f"nat{suffix}", subnet, gateway, [to_internet, *public_ways])
            for suffix, subnet in (
                [("", public[0])]
                if args["nat"] == "single"
                else [("" if i == 0 else f"-{zones[i]}", subnet) for i, subnet in enumerate(public)]
            )
        ]

        private = [
            self._subnet(f"private-{zone}", zone, blocks.private, {"kubernetes.io/role/internal-elb": "1"})
            for zone, blocks in zip(zones, layout, strict=True)
        ]
        tables = [self._route_table(f"private-{zone}", former=None if i else "private") for i, zone in enumerate(zones)]
        to_nat = [
            self._way_out(
                f"private-{zone}",
                table,
                nat_gateway_id=gateways[min(i, len(gateways) - 1)].id,
                former=None if i else "private",
            )
            for i, (zone, table) in enumerate(zip(zones, tables, strict=True))
        ]
        isolated = [
            self._subnet(f"isolated-{zone}", zone, blocks.isolated, {})
            for zone, blocks in zip(zones, layout, strict=True)
        ]
        isolated_table = self._route_table("isolated")
        for zone, subnet in zip(zones, isolated, strict=True):
            self._associate(f"isolated-{zone}", isolated_table, subnet)

        pods = self._pod_subnets(args)
        # Images and models come from S3: through the endpoint they cost nothing, through NAT every gigabyte does.
        aws.ec2.VpcEndpoint(
            f"{name}-s3",
            vpc_id=vpc.id,
            service_name=f"com.amazonaws.{args['region']}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[table.id for table in (*tables, isolated_table)],
            tags={"Name": f"{args['cluster_name']}-s3"},
            opts=self._child,
        )
        if args["flow_logs"]["enabled"]:
            FlowLogs(
                f"{name}-flow-logs",
                {
                    **args["flow_logs"],
                    "vpc_id": vpc.id,
                    "cluster_name": args["cluster_name"],
                    "key_arn": args["key_arn"],
                },
                self._child,
            )

        self.vpc_id = vpc.id
        self.public_subnet_ids = [subnet.id for subnet in public]
        self.private_subnet_ids = [subnet.id for subnet in private]
        self.isolated_subnet_ids = [subnet.id for subnet in isolated]
        self.routed_private_subnet_ids = self._routed("private", zones, private, tables, to_nat)
        self.routed_pod_subnet_ids = self._routed("pods", zones, pods, tables, to_nat) if pods else []
        self.register_outputs({"vpc_id": self.vpc_id, "private_subnet_ids": self.private_subnet_ids})

    def _pod_subnets(self, args: NetworkArgs) -> list[aws.ec2.Subnet]:
        """One subnet a zone in the secondary range, none where there is no such range."""
        if not args["pod_cidr"]:
            return []
        zones = args["availability_zones"]
        secondary = aws.ec2.VpcIpv4CidrBlockAssociation(
            f"{self._name}-pods", vpc_id=self._vpc.id, cidr_block=args["pod_cidr"], opts=self._child
        )
        return [
            self._subnet(f"pods-{zone}", zone, cidr, {}, after=[secondary])
            for zone, cidr in zip(zones, pod_subnets(args["pod_cidr"], args["cidr"], len(zones)), strict=True)
        ]

    def _routed(
        self,
        kind: str,
        zones: Sequence[str],
        members: Sequence[aws.ec2.Subnet],
        tables: Sequence[aws.ec2.RouteTable],
        routes: Sequence[aws.ec2.Route],
    ) -> list[pulumi.Output[str]]:
        """Associates subnets with their zone's table; their ids, known once the way out exists."""
        return [
            once(subnet.id, self._associate(f"{kind}-{zone}", table, subnet).id, route.id)
            for zone, subnet, table, route in zip(zones, members, tables, routes, strict=True)
        ]

    def _subnet(
        self, what: str, zone: str, cidr: str, tags: dict[str, str], after: Sequence[pulumi.Resource] = ()
    ) -> aws.ec2.Subnet:
        return aws.ec2.Subnet(
            f"{self._name}-{what}",
            vpc_id=self._vpc.id,
            availability_zone=zone,
            cidr_block=cidr,
            map_public_ip_on_launch=False,
            tags={"Name": f"{self._name}-{what}", **tags},
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(after)),
        )

    def _nat(
        self, what: str, subnet: aws.ec2.Subnet, gateway: pulumi.Resource, way_out: Sequence[pulumi.Resource]
    ) -> aws.ec2.NatGateway:
        address = aws.ec2.Eip(
            f"{self._name}-{what}",
            domain="vpc",
            tags={"Name": f"{self._name}-{what}"},
            # AWS: an address in a VPC needs the internet gateway, on the way up and on the way down.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[gateway]),
        )
        return aws.ec2.NatGateway(
            f"{self._name}-{what}",
            allocation_id=address.id,
            subnet_id=subnet.id,
            tags={"Name": f"{self._name}-{what}"},
            # Its own way out first: what waits for NAT waits for a NAT that works.
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(way_out)),
        )

    def _route_table(self, what: str, former: str | None = None) -> aws.ec2.RouteTable:
        return aws.ec2.RouteTable(
            f"{self._name}-{what}",
            vpc_id=self._vpc.id,
            tags={"Name": f"{self._name}-{what}"},
            opts=self._formerly(former),
        )

    def _way_out(
        self,
        what: str,
        table: aws.ec2.RouteTable,
        *,
        gateway_id: pulumi.Input[str] | None = None,
        nat_gateway_id: pulumi.Input[str] | None = None,
        former: str | None = None,
    ) -> aws.ec2.Route:
        return aws.ec2.Route(
            f"{self._name}-{what}",
            route_table_id=table.id,
            destination_cidr_block="0.0.0.0/0",
            gateway_id=gateway_id,
            nat_gateway_id=nat_gateway_id,
            opts=self._formerly(former),
        )

    def _formerly(self, what: str | None) -> pulumi.ResourceOptions:
        """Options of a resource that stacks made by an older version know by another name."""
        aliases = [pulumi.Alias(name=f"{self._name}-{what}")] if what else None
        return pulumi.ResourceOptions(parent=self, aliases=aliases)

    def _associate(self, what: str, table: aws.ec2.RouteTable, subnet: aws.ec2.Subnet) -> aws.ec2.RouteTableAssociation:
        return aws.ec2.RouteTableAssociation(
            f"{self._name}-{what}", route_table_id=table.id, subnet_id=subnet.id, opts=self._child
        )
