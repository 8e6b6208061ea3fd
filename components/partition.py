"""The AWS partition of a region: the second part of every ARN there."""

_PARTITIONS = {"cn-": "aws-cn", "us-gov-": "aws-us-gov", "us-iso-": "aws-iso", "us-isob-": "aws-iso-b"}


def partition_of(region: str) -> str:
    """The partition that a region belongs to.

    Args:
        region: a region's name such as `us-west-2`.
    """
    return next((name for prefix, name in _PARTITIONS.items() if region.startswith(prefix)), "aws")


def dns_suffix_of(region: str) -> str:
    """What the names of AWS's services and endpoints in a region end with.

    Args:
        region: a region's name.
    """
    return _SUFFIXES.get(partition_of(region), "amazonaws.com")


_SUFFIXES = {"aws-cn": "amazonaws.com.cn", "aws-iso": "c2s.ic.gov", "aws-iso-b": "sc2s.sgov.gov"}


def managed_policy(region: str, name: str) -> str:
    """The ARN of an AWS managed policy in a region's partition.

    Args:
        region: a region of the partition.
        name: the policy's name, with its path if it has one.
    """
    return f"arn:{partition_of(region)}:iam::aws:policy/{name}"
