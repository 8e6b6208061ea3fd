"""The kinds of value that settings are made of, each with its rule in words."""

import re
from ipaddress import IPv4Network
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from components.base.cidr import check_vpc_cidr
from components.compute import instance_types

DOCUMENTATION_NETWORKS = tuple(IPv4Network(n) for n in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"))
"""Address ranges reserved for documentation (RFC 5737)."""


class Section(BaseModel):
    """A part of the settings: frozen, without room for unknown keys, camelCase in stack files."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        use_attribute_docstrings=True,
        validate_default=True,
        hide_input_in_errors=True,
    )


def refuse(rule: str, fix: str) -> PydanticCustomError:
    return PydanticCustomError("eksai", "{rule}", {"rule": rule, "fix": fix})


def matches(pattern: str, rule: str, fix: str) -> AfterValidator:
    """A validator that holds a text to a pattern and says in words what the pattern means."""
    # ASCII: what looks like a digit to Unicode is none to AWS.
    compiled = re.compile(pattern, re.ASCII)

    def check(value: str) -> str:
        if not compiled.fullmatch(value):
            raise refuse(rule, fix)
        return value

    return AfterValidator(check)


AccountId = Annotated[
    str,
    matches(r"\d{12}", "an account id has twelve digits", "aws sts get-caller-identity prints yours"),
]
Region = Annotated[
    str,
    matches(r"[a-z]{2}(-[a-z]+)+-\d", "a region looks like us-west-2", "name the region, not a zone"),
]
Zone = Annotated[
    str,
    matches(r"[a-z]{2}(-[a-z]+)+-\d[a-z]", "a zone looks like us-west-2a", "name zones in full, not by letter"),
]
RoleArn = Annotated[
    str,
    matches(
        r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+",
        "the ARN of an IAM role (arn:aws:iam::<account>:role/<name>)",
        "an assumed-role or user ARN is not accepted: name the role itself",
    ),
]
PolicyArn = Annotated[
    str,
    matches(
        r"arn:aws[a-z-]*:iam::(\d{12}|aws):policy/[\w+=,.@/-]+",
        "the ARN of an IAM policy (arn:aws:iam::<account>:policy/<name>)",
        "aws iam list-policies prints them",
    ),
]
KeyArn = Annotated[
    str,
    matches(
        r"arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/[\w-]+",
        "the ARN of a KMS key (arn:aws:kms:<region>:<account>:key/<id>)",
        "an alias is not accepted: it can be pointed elsewhere; aws kms describe-key prints the key's ARN",
    ),
]
TagKey = Annotated[
    str,
    matches(
        r"(?!aws:|eksai:)[\w .:/=+@-]{1,128}",
        "a tag's key has up to 128 letters, digits, spaces and . : / = + - @ _, and not AWS's or our own beginning",
        "choose a key that begins with neither aws: nor eksai:",
    ),
]
TagValue = Annotated[
    str,
    matches(
        r"[\w .:/=+@-]{0,256}",
        "a tag's value has up to 256 letters, digits, spaces and . : / = + - @ _",
        "leave other characters out",
    ),
]
VpcId = Annotated[
    str, matches(r"vpc-[0-9a-f]{8,17}", "a VPC's id looks like vpc-0a1b2c3d", "aws ec2 describe-vpcs prints them")
]
SubnetId = Annotated[
    str,
    matches(
        r"subnet-[0-9a-f]{8,17}",
        "a subnet's id looks like subnet-0a1b2c3d",
        "aws ec2 describe-subnets prints them",
    ),
]
RepositoryName = Annotated[
    str,
    matches(
        r"[a-z0-9]+([._-][a-z0-9]+)*(/[a-z0-9]+([._-][a-z0-9]+)*)*",
        "a repository's name has lower-case letters and digits, single . _ - between them, / between parts",
        "choose such a name",
    ),
]
CLUSTER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", re.ASCII)
ClusterName = Annotated[
    str,
    matches(
        CLUSTER_NAME.pattern,
        "a cluster's name has letters, digits, - and _, begins with a letter or digit, 100 at most",
        "choose such a name, or leave it out for eksai-<stack>",
    ),
]
BucketName = Annotated[
    str,
    matches(
        r"(?!xn--|sthree-)(?!.*(-s3alias|--ol-s3)$)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]",
        "a bucket's name has 3 to 63 lower-case letters, digits and hyphens, and none of AWS's own beginnings and ends",
        "choose such a name, or leave it out for a generated one",
    ),
]
PoolName = Annotated[
    str,
    matches(
        r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?",
        "a pool's name is a DNS label: lower-case letters, digits and hyphens, 63 at most",
        "choose such a name; it never changes afterwards",
    ),
]
Quantity = Annotated[
    str,
    matches(
        r"\d+(\.\d+)?(k|[MGT]|[KMGT]i)?",
        'a Kubernetes quantity such as "80" or "320Gi"',
        "quote it and use a unit that Kubernetes knows",
    ),
]
Duration = Annotated[
    str,
    matches(
        r"(\d+(s|m|h))+|Never",
        'a duration such as "30m" or "720h", or "Never"',
        "use s, m and h; there are no days",
    ),
]
GracePeriod = Annotated[
    str,
    matches(r"(\d+(s|m|h))+", 'a duration such as "1h"', "a pool without an end to draining blocks every destroy"),
]
AddonVersion = Annotated[
    str,
    matches(
        r"v\d+\.\d+\.\d+-eksbuild\.\d+",
        "an add-on's version looks like v1.22.4-eksbuild.3",
        "leave it out for EKS's default, or take one that `aws eks describe-addon-versions` lists",
    ),
]


def _check_vpc_cidr(value: str) -> str:
    try:
        network = check_vpc_cidr(value)
    except ValueError as error:
        raise refuse(f"{error}", "for example 192.168.0.0/16, the default") from error
    if str(network) != value:
        raise refuse("an IPv4 range with its prefix", f"write {network}")
    return value


_WIDEST_PUBLIC = 16
"""Prefix of the widest range that may reach the API endpoint; the policy pack holds to the same by default."""


def public_range(value: str, *, widest: int, too_wide: PydanticCustomError, private: PydanticCustomError) -> str:
    """A range of public IPv4 addresses, as it is; those of documentation pass for one.

    Args:
        value: the range.
        widest: the shortest prefix that it may have.
        too_wide: raised for a shorter one.
        private: raised for addresses that nobody has on the internet.
    """
    try:
        network = IPv4Network(value)
    except ValueError as error:
        raise refuse("an IPv4 range with its prefix", "for example 198.51.100.7/32 for one address") from error
    if str(network) != value:
        raise refuse("an IPv4 range with its prefix", f"write {network}")
    if network.prefixlen < widest:
        raise too_wide
    if not network.is_global and not any(network.subnet_of(known) for known in DOCUMENTATION_NETWORKS):
        raise private
    return value


def _check_public_cidr(value: str) -> str:
    return public_range(
        value,
        widest=_WIDEST_PUBLIC,
        too_wide=refuse(
            f"the API endpoint is never open to the whole internet or a large part of it: /{_WIDEST_PUBLIC} at most",
            "list the ranges of your offices or VPN",
        ),
        private=refuse(
            "a private or reserved range never reaches a public endpoint",
            "give the public address that you go out with; inside the VPC the private endpoint answers",
        ),
    )


VpcCidr = Annotated[str, AfterValidator(_check_vpc_cidr)]
PublicCidr = Annotated[str, AfterValidator(_check_public_cidr)]


def _check_instance_type(name: str) -> str:
    if name not in instance_types.table():
        near = instance_types.nearest(name)
        raise refuse(
            "not an instance type that the platform knows",
            f"did you mean {' or '.join(near)}?" if near else "see components/compute/instance_types.tsv",
        )
    return name


InstanceTypeName = Annotated[str, AfterValidator(_check_instance_type)]


_UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12} | {
    f"{prefix}i": 1024**power for power, prefix in enumerate("KMGT", start=1)
}


def quantity(text: str) -> float:
    """A Kubernetes quantity such as `320Gi` as a plain number (bytes for memory, cores for cpu)."""
    number = re.match(r"[\d.]+", text)
    assert number is not None, f"{text!r} passed as a quantity unchecked"
    return float(number[0]) * _UNITS[text[number.end() :]]


def _check_some(text: str) -> str:
    if quantity(text) == 0:
        raise refuse("nothing runs with none of it", "write how much the pod needs, for example 2 or 4Gi")
    return text


Amount = Annotated[Quantity, AfterValidator(_check_some)]
"""A quantity that a pod asks for."""
