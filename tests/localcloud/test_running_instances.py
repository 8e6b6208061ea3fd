"""Running instances, and what they hold in place."""

import pytest

from localcloud.aws.ec2 import SECURITY_GROUP, SUBNET
from localcloud.aws.network_interfaces import NETWORK_INTERFACE
from localcloud.aws.running_instances import INSTANCE, free_address
from localcloud.errors import AwsError

PROFILE = "aws:iam/instanceProfile:InstanceProfile"


@pytest.fixture
def network(cloud):
    network = cloud.network()
    network["group"] = cloud.make(SECURITY_GROUP, "nodes", vpcId=network["vpc"]["id"])
    network["profile"] = cloud.make(PROFILE, name="nodes", role=cloud.role("nodes", "ec2.amazonaws.com")["name"])
    return network


def instance(cloud, network, **inputs):
    given = {
        "instanceType": "m7i.xlarge",
        "ami": "ami-0123456789abcdef0",
        "subnetId": network["ids"][0],
        "privateIp": "192.168.64.4",
        "vpcSecurityGroupIds": [network["group"]["id"]],
        "iamInstanceProfile": "nodes",
        "tags": {"Name": "x"},
    }
    return cloud.make(INSTANCE, **{**given, **inputs})


def test_an_instance_holds_its_subnet_and_groups_through_its_interface_until_it_ends(cloud, network):
    made = instance(cloud, network)
    (interface,) = cloud.account.find(NETWORK_INTERFACE, id=made["primaryNetworkInterfaceId"])
    assert (interface["privateIp"], interface["securityGroups"]) == ("192.168.64.4", [network["group"]["id"]])
    subnet = {"id": network["ids"][0]}
    for token, held in ((SUBNET, subnet), (SECURITY_GROUP, network["group"])):
        with cloud.refused("DependencyViolation"):
            cloud.delete(token, held)
    cloud.delete(INSTANCE, made)
    assert not any(cloud.account.find(NETWORK_INTERFACE, id=interface.id))
    cloud.delete(SECURITY_GROUP, network["group"])


def test_an_instance_does_not_hold_its_profile(cloud, network):
    instance(cloud, network)
    cloud.delete(PROFILE, network["profile"])


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"subnetId": "subnet-0"}, "InvalidSubnetID.NotFound"),
        ({"vpcSecurityGroupIds": ["sg-0"]}, "InvalidGroup.NotFound"),
        ({"iamInstanceProfile": "none"}, "InvalidParameterValue"),
    ],
)
def test_an_instance_names_what_exists(cloud, network, changes, code):
    with cloud.refused(code):
        instance(cloud, network, **changes)


def test_groups_of_another_network_are_refused(cloud, network):
    other = cloud.make("aws:ec2/vpc:Vpc", "other", cidrBlock="10.0.0.0/16")
    group = cloud.make(SECURITY_GROUP, "other", vpcId=other["id"])
    with cloud.refused("InvalidParameter"):
        instance(cloud, network, vpcSecurityGroupIds=[group["id"]])


def test_an_address_is_given_once(cloud, network):
    instance(cloud, network)
    with cloud.refused("InvalidIPAddress.InUse"):
        instance(cloud, network)


def test_the_lowest_free_address_is_taken_until_there_is_none(cloud, network):
    small = cloud.subnet(network["vpc"], "c", "192.168.16.0/28")
    (subnet,) = cloud.account.find(SUBNET, id=small["id"])
    instance(cloud, network, subnetId=subnet.id, privateIp="192.168.16.4")
    assert free_address(cloud.account, subnet, set()) == "192.168.16.5"
    assert free_address(cloud.account, subnet, {"192.168.16.5"}) == "192.168.16.6"
    with pytest.raises(AwsError, match="not enough free addresses"):
        free_address(cloud.account, subnet, {f"192.168.16.{number}" for number in range(5, 15)})
