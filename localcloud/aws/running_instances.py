"""EC2: running instances, each with a network interface that holds its subnet and groups."""

import ipaddress
from collections.abc import Set
from typing import TYPE_CHECKING

from localcloud.aws.ec2 import SECURITY_GROUP, SUBNET
from localcloud.aws.iam import INSTANCE_PROFILE
from localcloud.aws.network_interfaces import NETWORK_INTERFACE
from localcloud.errors import AwsError
from localcloud.resource_type import Api, OnDelete, Owned, Refers, ResourceType

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

INSTANCE = "aws:ec2/instance:Instance"

# AWS keeps the first four addresses of a subnet and the last one.
_KEPT_BELOW, _KEPT_ABOVE = 4, 1


def free_address(account: "Account", subnet: "Record", taken: Set[str]) -> str:
    """Returns the lowest private IPv4 address of a subnet that no interface has.

    Args:
        account: the account that the subnet is in.
        subnet: the subnet.
        taken: further addresses that are not free.

    Raises:
        AwsError: there is none.
    """
    block = ipaddress.IPv4Network(subnet["cidrBlock"])
    used = taken | {interface["privateIp"] for interface in account.find(NETWORK_INTERFACE, subnetId=subnet.id)}
    for offset in range(_KEPT_BELOW, block.num_addresses - _KEPT_ABOVE):
        address = str(block[offset])
        if address not in used:
            return address
    raise AwsError(
        "InsufficientFreeAddressesInSubnet",
        f"there are not enough free addresses in subnet {subnet.id} ({block}) for another network interface",
    )


def _address_is_free(account: "Account", instance: "Record") -> None:
    address = instance["privateIp"]
    if address is None:
        return
    for interface in account.find(NETWORK_INTERFACE, subnetId=instance["subnetId"], privateIp=address):
        if interface.id != instance["primaryNetworkInterfaceId"]:
            raise AwsError("InvalidIPAddress.InUse", f"the address {address} is in use by {interface.id}")


def _groups_are_of_its_network(account: "Account", instance: "Record") -> None:
    subnet = next(account.find(SUBNET, id=instance["subnetId"]))
    for group_id in instance["vpcSecurityGroupIds"] or ():
        for group in account.find(SECURITY_GROUP, id=group_id):
            if group["vpcId"] not in (None, subnet["vpcId"]):
                raise AwsError("InvalidParameter", f"{group_id} and {subnet.id} belong to different networks")


TYPES = (
    ResourceType(
        INSTANCE,
        id="i-{hex17}",
        outputs={
            "arn": "arn:{partition}:ec2:{region}:{account}:instance/{id}",
            "instanceState": "running",
            "primaryNetworkInterfaceId": "eni-{hex17:primary}",
        },
        required=("instanceType", "subnetId"),
        replaces=("ami", "subnetId", "availabilityZone", "privateIp", "instanceMarketOptions"),
        unordered=("vpcSecurityGroupIds",),
        api=Api(
            "ec2",
            "RunInstances",
            {
                "ami": "ImageId",
                "privateIp": "PrivateIpAddress",
                "vpcSecurityGroupIds": "SecurityGroupIds",
                **dict.fromkeys(("tags", "availabilityZone", "iamInstanceProfile"), ""),
            },
            supplied=("MinCount", "MaxCount"),
        ),
        refers=(
            Refers("subnetId", SUBNET, "InvalidSubnetID.NotFound"),
            Refers("vpcSecurityGroupIds", SECURITY_GROUP, "InvalidGroup.NotFound"),
            # IAM deletes a profile under a running instance, which then loses its credentials.
            Refers(
                "iamInstanceProfile",
                INSTANCE_PROFILE,
                "InvalidParameterValue",
                by=("name",),
                on_delete=OnDelete.IGNORE,
            ),
        ),
        owns=(
            Owned(
                NETWORK_INTERFACE,
                id="{primaryNetworkInterfaceId}",
                inputs={
                    "subnetId": "{subnetId}",
                    "privateIp": "{privateIp}",
                    "securityGroups": "{vpcSecurityGroupIds}",
                    "description": "Primary interface of {id}",
                },
                # Without an address of its own choosing an instance has none here, and its subnet is held by itself.
                when="privateIp",
            ),
        ),
        admits=(_address_is_free, _groups_are_of_its_network),
        tagged=True,
    ),
)
