"""EC2: what instances are launched from and where: templates, placement groups, capacity reservations."""

import re
from collections.abc import Iterator
from typing import Any

from localcloud.aws.ec2 import SECURITY_GROUP
from localcloud.aws.kms import encrypts_with
from localcloud.checks import between, matches, one_of
from localcloud.resource_type import (
    Api,
    AutoName,
    Failure,
    Identity,
    OnDelete,
    Properties,
    Refers,
    ResourceType,
    Unique,
)
from localcloud.templates import Draws

LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
PLACEMENT_GROUP = "aws:ec2/placementGroup:PlacementGroup"
CAPACITY_RESERVATION = "aws:ec2/capacityReservation:CapacityReservation"

# Family, generation, attributes, such as m7gd or p6e-gb200: the attribute g, or a Grace processor, is arm64.
_INSTANCE_TYPE = re.compile(r"[a-z]+\d+([a-z]*)(-[a-z]*\d*)?\.\d*[a-z0-9-]+")


def architecture_of(instance_type: str) -> str:
    """Returns the CPU architecture that EC2's naming of an instance type tells: `arm64` or `x86_64`."""
    named = _INSTANCE_TYPE.fullmatch(instance_type)
    arm = instance_type.startswith("a1.") or (named and ("g" in named[1] or "gb" in (named[2] or "")))
    return "arm64" if arm else "x86_64"


def _default_version(properties: Properties, _: Draws) -> Any:
    return properties["latestVersion"] if properties.get("updateDefaultVersion") else 1


def _partitions_belong_to_partition(inputs: Properties, _: Identity) -> Iterator[Failure]:
    if "partitionCount" in inputs and inputs["strategy"] != "partition":
        yield Failure("partitionCount", f"InvalidParameterCombination: strategy {inputs['strategy']} has no partitions")


def _ends_when_it_says(inputs: Properties, _: Identity) -> Iterator[Failure]:
    limited = inputs.get("endDateType") == "limited"
    if limited != ("endDate" in inputs):
        yield Failure("endDate", "InvalidParameterCombination: endDate goes with endDateType limited, and only with it")


TYPES = (
    ResourceType(
        LAUNCH_TEMPLATE,
        id="lt-{hex17}",
        outputs={
            "arn": "arn:{partition}:ec2:{region}:{account}:launch-template/{id}",
            "latestVersion": 1,
            "defaultVersion": _default_version,
        },
        auto_name=AutoName(longest=125),
        replaces=("name",),
        checks=(
            matches("name", r"[a-zA-Z0-9().\-/_]{3,128}", "a launch template name"),
            one_of("metadataOptions.httpTokens", ("optional", "required")),
            between("metadataOptions.httpPutResponseHopLimit", 1, 64),
            one_of("blockDeviceMappings.ebs.encrypted", ("true", "false", True, False)),
            one_of(
                "blockDeviceMappings.ebs.volumeType",
                ("standard", "gp2", "gp3", "io1", "io2", "sc1", "st1"),
            ),
            between("blockDeviceMappings.ebs.volumeSize", 1, 65536),
        ),
        refers=(
            Refers("vpcSecurityGroupIds", SECURITY_GROUP, "InvalidGroup.NotFound", on_delete=OnDelete.IGNORE),
            Refers(
                "networkInterfaces.securityGroups",
                SECURITY_GROUP,
                "InvalidGroup.NotFound",
                on_delete=OnDelete.IGNORE,
            ),
            encrypts_with("blockDeviceMappings.ebs.kmsKeyId", "InvalidKMSKey.NotFound"),
            Refers(
                "capacityReservationSpecification.capacityReservationTarget.capacityReservationId",
                CAPACITY_RESERVATION,
                "InvalidCapacityReservationId.NotFound",
                on_delete=OnDelete.IGNORE,
            ),
            Refers(
                "placement.groupName",
                PLACEMENT_GROUP,
                "InvalidPlacementGroup.Unknown",
                by=("name",),
                on_delete=OnDelete.IGNORE,
            ),
        ),
        api=Api(
            "ec2",
            "RequestLaunchTemplateData",
            {
                "vpcSecurityGroupIds": "SecurityGroupIds",
                "blockDeviceMappings.ebs.kmsKeyId": "KmsKeyId",
                "networkInterfaces.securityGroups": "Groups",
                "tagSpecifications.tags": "Tags",
                "placement.groupName": "GroupName",
                **dict.fromkeys(("name", "description", "updateDefaultVersion", "defaultVersion", "tags"), ""),
            },
        ),
        unique=(
            Unique(
                ("name",),
                "InvalidLaunchTemplateName.AlreadyExistsException",
                "the launch template name {name} is already in use",
            ),
        ),
        counts=("latestVersion",),
        tagged=True,
    ),
    ResourceType(
        PLACEMENT_GROUP,
        id="{name}",
        outputs={
            "arn": "arn:{partition}:ec2:{region}:{account}:placement-group/{name}",
            "placementGroupId": "pg-{hex17}",
        },
        required=("strategy",),
        auto_name=AutoName(longest=255),
        replaces=("name", "strategy", "partitionCount", "spreadLevel"),
        checks=(between("partitionCount", 1, 7), _partitions_belong_to_partition),
        api=Api("ec2", "CreatePlacementGroup", {"name": "GroupName", "tags": ""}),
        unique=(Unique(("name",), "InvalidPlacementGroup.Duplicate", "the placement group '{name}' already exists"),),
        tagged=True,
    ),
    ResourceType(
        CAPACITY_RESERVATION,
        id="cr-{hex17}",
        outputs={
            "arn": "arn:{partition}:ec2:{region}:{account}:capacity-reservation/{id}",
            "ownerId": "{account}",
        },
        defaults={"endDateType": "unlimited", "instanceMatchCriteria": "open", "tenancy": "default"},
        required=("instanceType", "instancePlatform", "availabilityZone", "instanceCount"),
        replaces=(
            *("instanceType", "instancePlatform", "availabilityZone", "ebsOptimized", "ephemeralStorage"),
            *("instanceMatchCriteria", "tenancy", "placementGroupArn", "outpostArn"),
        ),
        checks=(
            between("instanceCount", 1, 1000),
            matches("availabilityZone", "{region}[a-f]", "a zone of the region {region}"),
            _ends_when_it_says,
        ),
        api=Api("ec2", "CreateCapacityReservation", {"tags": ""}),
        refers=(
            Refers(
                "placementGroupArn",
                PLACEMENT_GROUP,
                "InvalidPlacementGroup.Unknown",
                by=("arn",),
                in_use="InvalidPlacementGroup.InUse",
            ),
        ),
        tagged=True,
    ),
)
