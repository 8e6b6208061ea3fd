"""The volumes of nodes are encrypted, by what the program says and not by luck.

Judged are Karpenter's node classes, launch templates, instances, and managed node groups without a launch template.
Where no volume is stated, it depends on who fills the gap: Karpenter encrypts the default volumes of an AMI family that
it knows; EC2 takes the image's own volumes as they are, encrypted only if the account's default says so.
"""

from collections.abc import Iterator

from pulumi_policy import Severity

from .judging.customer_keys import judge_key
from .judging.properties import Unknown, Value, at, elements, first_unknown, is_true
from .judging.rule import Config, Resource, Verdict, resource_rule

# The devices of each family's images, for which Karpenter has encrypted defaults (`Custom` has none). One given mapping
# replaces all the defaults, so a device that it leaves out is as the image made it.
_DEVICES = {
    "al2": frozenset({"xvda"}),
    "al2023": frozenset({"xvda"}),
    "bottlerocket": frozenset({"xvda", "xvdb"}),
    "ubuntu": frozenset({"sda1"}),
    "windows2019": frozenset({"sda1"}),
    "windows2022": frozenset({"sda1"}),
    "windows2025": frozenset({"sda1"}),
}
_NODE_CLASSES = (
    "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass",
    "kubernetes:karpenter.k8s.aws/v1beta1:EC2NodeClass",
)
_LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
_NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
_INSTANCES = (
    "aws:ec2/instance:Instance",
    "aws:ec2/launchConfiguration:LaunchConfiguration",
    "aws:ec2/spotInstanceRequest:SpotInstanceRequest",
)


def _check(resource: Resource, config: Config) -> Iterator[Verdict]:
    customer_key = bool(config.get("requireCustomerKey", False))
    if resource.type in _NODE_CLASSES:
        yield from _node_class(resource, customer_key)
    elif resource.type == _LAUNCH_TEMPLATE:
        yield from _launch_template(resource, customer_key)
    elif resource.type == _NODE_GROUP:
        yield from _node_group(resource)
    else:
        yield from _instance(resource, customer_key)


def _volume(volume: Value, name: str, key_property: str, customer_key: bool) -> Iterator[Verdict]:
    """Yields what is wrong with one stated volume."""
    encrypted = at(volume, "encrypted")
    if isinstance(encrypted, Unknown):
        yield encrypted
    elif not is_true(encrypted):
        yield f"Volume {name} is not encrypted; set encrypted to true."
    if customer_key:
        yield from judge_key(at(volume, key_property), f"{key_property} of volume {name}")


def _node_class(resource: Resource, customer_key: bool) -> Iterator[Verdict]:
    family = _family(resource)
    mappings = elements(resource.get("spec", "blockDeviceMappings"))
    devices = frozenset[str]() if isinstance(family, Unknown) else _DEVICES.get(family, frozenset())
    for mapping in mappings:
        ebs = at(mapping, "ebs")
        if isinstance(ebs, Unknown):
            yield ebs
        elif ebs is not None:
            yield from _volume(ebs, _shown_device(mapping), "kmsKeyID", customer_key)
    if mappings:
        yield from _left_out(mappings, family, devices)
    elif isinstance(family, Unknown):
        yield family
    elif not devices:
        yield (
            "No blockDeviceMappings are given, and for this AMI family Karpenter has none of its own: the volumes are "
            "as the image made them. State them, encrypted."
        )
    elif customer_key:
        yield (
            f"No blockDeviceMappings are given, so Karpenter encrypts {', '.join(sorted(devices))} with the account's "
            f"default key. State them with kmsKeyID."
        )


def _family(resource: Resource) -> str | Unknown:
    """Returns a node class's AMI family in lower case; empty if it names none. An alias implies its family."""
    family = resource.get("spec", "amiFamily")
    if family is None:
        # Karpenter takes no other term beside an alias.
        terms = elements(resource.get("spec", "amiSelectorTerms"))
        family = (at(terms[0], "alias") if terms else None) or ""
    return family if isinstance(family, Unknown) else str(family).split("@", maxsplit=1)[0].lower()


def _left_out(mappings: list[Value], family: str | Unknown, devices: frozenset[str]) -> Iterator[Verdict]:
    """Yields the devices of an AMI family that the given mappings leave as the image made them."""
    names = [at(mapping, "deviceName") for mapping in mappings if at(mapping, "ebs") is not None]
    missing = sorted(devices - {str(name).removeprefix("/dev/") for name in names})
    unknown = first_unknown(family, *names)
    if unknown is not None and (missing or isinstance(family, Unknown)):
        yield unknown
    elif missing:
        yield (
            f"blockDeviceMappings leave out {', '.join(missing)}, which images of family {family} have: that volume is "
            f"as the image made it. State it, encrypted."
        )


def _shown_device(mapping: Value) -> str:
    name = at(mapping, "deviceName")
    return name if isinstance(name, str) else "without a known device name"


def _launch_template(resource: Resource, customer_key: bool) -> Iterator[Verdict]:
    stated = False
    for mapping in elements(resource.get("blockDeviceMappings")):
        ebs = at(mapping, "ebs")
        stated = stated or ebs is not None
        if isinstance(ebs, Unknown):
            yield ebs
        elif ebs is not None:
            yield from _volume(ebs, _shown_device(mapping), "kmsKeyId", customer_key)
    if not stated:
        yield (
            "The launch template states no EBS volume, so instances get the image's volumes as they are. Add the root "
            "device to blockDeviceMappings with ebs.encrypted."
        )


def _node_group(resource: Resource) -> Iterator[Verdict]:
    if resource.get("launchTemplate") is None:
        yield (
            "The node group has no launch template, so EKS gives its nodes a volume that only the account's default "
            "may encrypt. Give it one that encrypts its volumes."
        )


def _instance(resource: Resource, customer_key: bool) -> Iterator[Verdict]:
    root = resource.get("rootBlockDevice")
    if isinstance(root, Unknown):
        yield root
    # A root volume left to a launch template is judged there.
    elif root is not None or resource.get("launchTemplate") is None:
        yield from _volume(root, "rootBlockDevice", "kmsKeyId", customer_key)
    for volume in elements(resource.get("ebsBlockDevices")):
        if isinstance(volume, Unknown):
            yield volume
        else:
            yield from _volume(volume, _shown_device(volume), "kmsKeyId", customer_key)


RULE = resource_rule(
    _check,
    name="node-volumes-encrypted",
    description="The volumes of nodes are stated and encrypted.",
    judges=(*_NODE_CLASSES, _LAUNCH_TEMPLATE, _NODE_GROUP, *_INSTANCES),
    severity=Severity.HIGH,
    remediation=(
        "State every volume of the image with encrypted: true in the EC2NodeClass or the launch template (of "
        "Bottlerocket /dev/xvda and /dev/xvdb), and name a key of yours."
    ),
    tags=["CKV_AWS_3", "CKV_AWS_106", "CKV_AWS_189"],
    config={
        "requireCustomerKey": {
            "type": "boolean",
            "default": False,
            "description": "Whether each volume must also name a KMS key of the customer's.",
        }
    },
)
