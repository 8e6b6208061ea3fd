import json

import pytest

from localcloud.aws.gateways import reaches_internet
from localcloud.aws.instances import architecture_of

VPC, SUBNET, GATEWAY = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet", "aws:ec2/internetGateway:InternetGateway"
EIP, NAT, TABLE = "aws:ec2/eip:Eip", "aws:ec2/natGateway:NatGateway", "aws:ec2/routeTable:RouteTable"
ROUTE, ASSOCIATION = "aws:ec2/route:Route", "aws:ec2/routeTableAssociation:RouteTableAssociation"
GROUP, TEMPLATE = "aws:ec2/securityGroup:SecurityGroup", "aws:ec2/launchTemplate:LaunchTemplate"


@pytest.fixture
def vpc(cloud):
    return cloud.make(VPC, cidrBlock="192.168.0.0/16")


def test_a_subnet_outside_its_vpc_is_refused(cloud, vpc):
    with cloud.refused("InvalidSubnet.Range"):
        cloud.subnet(vpc, "a", "10.0.0.0/20")


def test_a_subnet_that_overlaps_another_of_its_vpc_is_refused(cloud, vpc):
    cloud.subnet(vpc, "a", "192.168.0.0/20")
    with cloud.refused("InvalidSubnet.Conflict"):
        cloud.subnet(vpc, "b", "192.168.8.0/21")
    other = cloud.make(VPC, cidrBlock="192.168.0.0/16")
    cloud.subnet(other, "b", "192.168.8.0/21")


def test_a_vpc_takes_one_internet_gateway(cloud, vpc):
    cloud.make(GATEWAY, vpcId=vpc["id"])
    with cloud.refused("Resource.AlreadyAssociated"):
        cloud.make(GATEWAY, vpcId=vpc["id"])


def test_a_nat_gateway_needs_an_internet_gateway_in_its_vpc(cloud, vpc):
    subnet, eip = cloud.subnet(vpc, "a", "192.168.0.0/20"), cloud.make(EIP)
    with cloud.refused("Gateway.NotAttached"):
        cloud.make(NAT, subnetId=subnet["id"], allocationId=eip["id"])
    cloud.make(GATEWAY, vpcId=vpc["id"])
    with cloud.refused("MissingParameter"):
        cloud.make(NAT, subnetId=subnet["id"])
    cloud.make(NAT, subnetId=subnet["id"], allocationId=eip["id"])


def test_an_address_serves_one_nat_gateway_and_stays_as_long_as_it(cloud):
    network = cloud.network()
    with cloud.refused("Resource.AlreadyAssociated"):
        cloud.make(NAT, subnetId=network["public"]["id"], allocationId=network["eip"]["id"])
    with cloud.refused("InvalidIPAddress.InUse"):
        cloud.delete(EIP, network["eip"])


def test_an_internet_gateway_stays_while_addresses_are_mapped_through_it(cloud):
    network = cloud.network()
    with cloud.refused("DependencyViolation"):
        cloud.delete(GATEWAY, network["gateway"])
    cloud.delete(NAT, network["nat"])
    cloud.delete(GATEWAY, network["gateway"])


def test_a_table_has_one_route_to_a_destination(cloud):
    network = cloud.network()
    with cloud.refused("RouteAlreadyExists"):
        cloud.make(
            ROUTE,
            routeTableId=network["table"]["id"],
            destinationCidrBlock="0.0.0.0/0",
            gatewayId=network["gateway"]["id"],
        )
    with cloud.refused("RouteAlreadyExists"):
        cloud.make(
            ROUTE,
            routeTableId=network["table"]["id"],
            destinationCidrBlock="192.168.0.0/16",
            gatewayId=network["gateway"]["id"],
        )


def test_a_route_leads_out_of_its_own_network_only(cloud, vpc):
    table = cloud.make(TABLE, vpcId=vpc["id"])
    with cloud.refused("InvalidNatGatewayID.NotFound"):
        cloud.make(ROUTE, routeTableId=table["id"], destinationCidrBlock="0.0.0.0/0", natGatewayId="nat-0")
    other = cloud.network()
    with cloud.refused("InvalidParameterValue"):
        cloud.make(ROUTE, routeTableId=table["id"], destinationCidrBlock="0.0.0.0/0", natGatewayId=other["nat"]["id"])


def test_a_subnet_has_one_route_table_of_its_own_network(cloud, vpc):
    network = cloud.network()
    subnet = network["private"][0]
    with cloud.refused("Resource.AlreadyAssociated"):
        cloud.make(ASSOCIATION, routeTableId=network["table"]["id"], subnetId=subnet["id"])
    alone = cloud.subnet(vpc, "a", "192.168.0.0/20")
    with cloud.refused("InvalidParameterValue"):
        cloud.make(ASSOCIATION, routeTableId=network["table"]["id"], subnetId=alone["id"])
    with cloud.refused("DependencyViolation"):
        cloud.delete(TABLE, network["table"])


def test_a_private_subnet_reaches_the_internet_only_when_its_gateway_does(cloud):
    network = cloud.network()
    assert reaches_internet(cloud.account, network["ids"][0])
    alone = cloud.subnet(network["vpc"], "a", "192.168.192.0/20")
    assert not reaches_internet(cloud.account, alone["id"])
    # A NAT gateway in a private subnet is made without complaint, and leads nowhere.
    buried = cloud.make(NAT, subnetId=network["ids"][0], allocationId=cloud.make(EIP)["id"])
    cloud.route(network["vpc"], [alone], natGatewayId=buried["id"])
    assert not reaches_internet(cloud.account, alone["id"])


def test_the_default_group_is_taken_over_and_given_back(cloud, vpc):
    group = cloud.make("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup", vpcId=vpc["id"])
    assert group["id"] == vpc["defaultSecurityGroupId"]
    cloud.delete("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup", group)
    assert cloud.account.get(GROUP, group["id"], cloud.identity), "AWS keeps it as long as the network"


def test_security_groups_and_rules_are_told_apart_by_what_they_say(cloud, vpc):
    group = cloud.make(GROUP, name="efa", vpcId=vpc["id"])
    with cloud.refused("InvalidGroup.Duplicate"):
        cloud.make(GROUP, name="efa", vpcId=vpc["id"])
    rule = {"securityGroupId": group["id"], "type": "ingress", "protocol": "-1", "fromPort": 0, "toPort": 0}
    cloud.make("aws:ec2/securityGroupRule:SecurityGroupRule", **rule, self=True)
    with cloud.refused("InvalidPermission.Duplicate"):
        cloud.make("aws:ec2/securityGroupRule:SecurityGroupRule", **rule, self=True)
    with cloud.refused("InvalidGroup.NotFound"):
        cloud.make("aws:ec2/securityGroupRule:SecurityGroupRule", **rule, sourceSecurityGroupId="sg-0")


def test_every_change_of_a_launch_template_is_a_new_version(cloud):
    template = cloud.make(TEMPLATE, name="nodes", updateDefaultVersion=True)
    assert template["latestVersion"] == 1
    inputs = {"name": "nodes", "ebsOptimized": "true", "updateDefaultVersion": True}
    for version in (2, 3):
        updated = cloud.account.update(TEMPLATE, template["id"], inputs, cloud.identity)
        assert updated["latestVersion"] == updated["defaultVersion"] == version
    with cloud.refused("InvalidLaunchTemplateName.AlreadyExistsException"):
        cloud.make(TEMPLATE, name="nodes")


def test_a_network_goes_from_the_inside_out(cloud):
    network = cloud.network()
    with cloud.refused("DependencyViolation"):
        cloud.delete(SUBNET, network["public"])
    with cloud.refused("DependencyViolation"):
        cloud.delete(VPC, network["vpc"])


CIDR = "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation"
ENDPOINT, FLOW_LOG = "aws:ec2/vpcEndpoint:VpcEndpoint", "aws:ec2/flowLog:FlowLog"
INGRESS = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"


def test_a_subnet_may_lie_in_a_second_range_which_then_stays(cloud, vpc):
    with cloud.refused("InvalidSubnet.Range"):
        cloud.subnet(vpc, "a", "100.64.0.0/18")
    second = cloud.make(CIDR, vpcId=vpc["id"], cidrBlock="100.64.0.0/16")
    subnet = cloud.subnet(vpc, "a", "100.64.0.0/18")
    with cloud.refused("InvalidCidrBlock.InUse"):
        cloud.delete(CIDR, second)
    cloud.delete(SUBNET, subnet)
    cloud.delete(CIDR, second)


@pytest.mark.parametrize("block", ["10.1.0.0/16", "172.16.0.0/16", "192.168.128.0/17", "192.168.0.0/16"])
def test_some_ranges_do_not_go_together(cloud, vpc, block):
    with cloud.refused("InvalidVpc.Range"):
        cloud.make(CIDR, vpcId=vpc["id"], cidrBlock=block)


def test_a_network_has_five_ranges_at_most(cloud, vpc):
    for number in range(4):
        cloud.make(CIDR, vpcId=vpc["id"], cidrBlock=f"100.{64 + number}.0.0/16")
    with cloud.refused("CidrLimitExceeded"):
        cloud.make(CIDR, vpcId=vpc["id"], cidrBlock="100.70.0.0/16")


def test_an_interface_endpoint_has_one_subnet_a_zone_and_dns_to_answer(cloud):
    vpc = cloud.make(VPC, cidrBlock="192.168.0.0/16")
    one, two = cloud.subnet(vpc, "a", "192.168.0.0/20"), cloud.subnet(vpc, "a", "192.168.16.0/20")
    asked = {"vpcId": vpc["id"], "serviceName": "com.amazonaws.us-west-2.ecr.api", "vpcEndpointType": "Interface"}
    with cloud.refused("DuplicateSubnetsInSameZone"):
        cloud.make(ENDPOINT, **asked, subnetIds=[one["id"], two["id"]])
    with cloud.refused("InvalidParameter"):
        cloud.make(ENDPOINT, **asked, subnetIds=[one["id"]], privateDnsEnabled=True)
    named = cloud.make(VPC, cidrBlock="192.168.0.0/16", enableDnsHostnames=True)
    asked["vpcId"] = named["id"]
    cloud.make(ENDPOINT, **asked, subnetIds=[cloud.subnet(named, "a", "192.168.0.0/20")["id"]], privateDnsEnabled=True)
    with cloud.refused("InvalidParameter"):
        cloud.make(ENDPOINT, **asked, privateDnsEnabled=True)


def test_a_gateway_endpoint_is_for_s3_and_dynamodb_and_takes_routes(cloud, vpc):
    table = cloud.make(TABLE, vpcId=vpc["id"])
    s3 = {"vpcId": vpc["id"], "serviceName": "com.amazonaws.us-west-2.s3", "routeTableIds": [table["id"]]}
    cloud.make(ENDPOINT, **s3)
    with cloud.refused("RouteAlreadyExists"):
        cloud.make(ENDPOINT, **s3)
    with cloud.refused("InvalidServiceName"):
        cloud.make(ENDPOINT, vpcId=vpc["id"], serviceName="com.amazonaws.us-west-2.sts")
    with cloud.refused("InvalidParameter"):
        cloud.make(ENDPOINT, **{**s3, "vpcEndpointType": "Interface"})


def test_a_flow_log_needs_a_role_that_may_write_its_group(cloud, vpc):
    logs = cloud.make("aws:cloudwatch/logGroup:LogGroup", name="/aws/vpc/x")
    role = cloud.role("flow", "vpc-flow-logs.amazonaws.com")
    asked = {"vpcId": vpc["id"], "logDestination": logs["arn"], "trafficType": "ALL"}
    with cloud.refused("InvalidParameter"):
        cloud.make(FLOW_LOG, **asked)
    with cloud.refused("AccessError"):
        cloud.make(FLOW_LOG, **asked, iamRoleArn=role["arn"])
    write = {"Effect": "Allow", "Action": ["logs:CreateLogStream", "logs:PutLogEvents"], "Resource": f"{logs['arn']}:*"}
    cloud.make("aws:iam/rolePolicy:RolePolicy", role=role["name"], policy=json.dumps({"Statement": [write]}))
    cloud.make(FLOW_LOG, **asked, iamRoleArn=role["arn"])
    with cloud.refused("FlowLogAlreadyExists"):
        cloud.make(FLOW_LOG, **asked, iamRoleArn=role["arn"])


def test_a_rule_of_its_own_is_told_apart_by_protocol_ports_and_peer(cloud, vpc):
    group = cloud.make(GROUP, name="efa", vpcId=vpc["id"])
    rule = {"securityGroupId": group["id"], "referencedSecurityGroupId": group["id"], "ipProtocol": "-1"}
    cloud.make(INGRESS, **rule)
    with cloud.refused("InvalidPermission.Duplicate"):
        cloud.make(INGRESS, **rule)
    cloud.make(INGRESS.replace("Ingress", "Egress"), **rule)
    cloud.make(INGRESS, **{**rule, "ipProtocol": "tcp", "fromPort": 988, "toPort": 988})
    assert "needs fromPort" in cloud.failures(INGRESS, **{**rule, "ipProtocol": "tcp"})
    assert "leave fromPort" in cloud.failures(INGRESS, **rule, fromPort=0, toPort=0)
    cloud.delete(GROUP, group)
    assert not list(cloud.account.find(INGRESS)), "rules go with their group"


def test_a_group_that_others_let_in_stays(cloud, vpc):
    one, two = cloud.make(GROUP, name="one", vpcId=vpc["id"]), cloud.make(GROUP, name="two", vpcId=vpc["id"])
    cloud.make(INGRESS, securityGroupId=two["id"], referencedSecurityGroupId=one["id"], ipProtocol="-1")
    with cloud.refused("DependencyViolation"):
        cloud.delete(GROUP, one)


def test_a_placement_groups_name_is_its_own_and_partitions_are_for_partition(cloud):
    placement = "aws:ec2/placementGroup:PlacementGroup"
    cloud.make(placement, name="efa", strategy="cluster")
    with cloud.refused("InvalidPlacementGroup.Duplicate"):
        cloud.make(placement, name="efa", strategy="cluster")
    assert "no partitions" in cloud.failures(placement, strategy="cluster", partitionCount=3)


@pytest.mark.parametrize(
    ("instance_type", "architecture"),
    [
        *(("m7g.xlarge", "arm64"), ("c7gn.2xlarge", "arm64"), ("g5g.xlarge", "arm64"), ("a1.large", "arm64")),
        *(("p6e-gb200.36xlarge", "arm64"), ("g5.xlarge", "x86_64"), ("g4dn.12xlarge", "x86_64")),
        *(("gr6.4xlarge", "x86_64"), ("p6-b200.48xlarge", "x86_64"), ("trn1n.32xlarge", "x86_64")),
        *(("m7i-flex.large", "x86_64"), ("im4gn.large", "arm64"), ("g4dn.metal", "x86_64")),
    ],
)
def test_the_name_of_an_instance_type_tells_its_architecture(instance_type, architecture):
    assert architecture_of(instance_type) == architecture
