"""EC2: network interfaces, those of one's own and those that AWS makes for its services."""

from typing import TYPE_CHECKING

from localcloud.aws.ec2 import SECURITY_GROUP, SUBNET
from localcloud.errors import AwsError
from localcloud.resource_type import Api, OnDelete, Refers, ResourceType

if TYPE_CHECKING:
    from localcloud.account import Account
    from localcloud.record import Record

NETWORK_INTERFACE = "aws:ec2/networkInterface:NetworkInterface"

# What AWS makes interfaces for; they name it by its ARN, and go with it.
_REQUESTERS = ("aws:lb/loadBalancer:LoadBalancer", "aws:efs/mountTarget:MountTarget")


def _address_is_free(account: "Account", interface: "Record") -> None:
    address = interface["privateIp"]
    for other in account.find(NETWORK_INTERFACE, subnetId=interface["subnetId"], privateIp=address):
        if address is not None and other.id != interface.id:
            raise AwsError("InvalidIPAddress.InUse", f"the address {address} is in use by {other.id}")


def _groups_are_of_its_network(account: "Account", interface: "Record") -> None:
    subnet = next(account.find(SUBNET, id=interface["subnetId"]))
    for group_id in interface["securityGroups"] or ():
        for group in account.find(SECURITY_GROUP, id=group_id):
            if group["vpcId"] not in (None, subnet["vpcId"]):
                raise AwsError(
                    "InvalidParameterValue", f"{group_id} and {subnet.id} of {interface.name} are in different networks"
                )


def _is_not_awss_own(_: "Account", interface: "Record") -> None:
    if interface["requester"]:
        raise AwsError(
            "OperationNotPermitted",
            f"{interface.id} is managed by AWS for {interface['requester']}, and goes when that is deleted",
        )


TYPES = (
    ResourceType(
        NETWORK_INTERFACE,
        id="eni-{hex17}",
        outputs={
            "arn": "arn:{partition}:ec2:{region}:{account}:network-interface/{id}",
            "ownerId": "{account}",
            "macAddress": "0a:{hex2:a}:{hex2:b}:{hex2:c}:{hex2:d}:{hex2:e}",
        },
        defaults={"sourceDestCheck": True},
        required=("subnetId",),
        replaces=("subnetId", "interfaceType"),
        unordered=("securityGroups", "privateIps"),
        api=Api(
            "ec2",
            "CreateNetworkInterface",
            {
                "securityGroups": "Groups",
                "privateIp": "PrivateIpAddress",
                **dict.fromkeys(("requester", "privateIps", "attachments", "sourceDestCheck", "tags"), ""),
            },
        ),
        refers=(
            Refers("subnetId", SUBNET, "InvalidSubnetID.NotFound"),
            Refers("securityGroups", SECURITY_GROUP, "InvalidGroup.NotFound"),
            *(
                Refers(
                    "requester", one, "InvalidParameterValue", by=("arn",), on_delete=OnDelete.CASCADE, external=".*"
                )
                for one in _REQUESTERS
            ),
        ),
        admits=(
            _address_is_free,
            _groups_are_of_its_network,
        ),
        releases=(_is_not_awss_own,),
        tagged=True,
    ),
)
