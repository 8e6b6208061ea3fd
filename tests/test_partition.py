"""Partitions of regions."""

import pytest

from components.partition import managed_policy, partition_of


@pytest.mark.parametrize(
    ("region", "partition"),
    [
        ("us-west-2", "aws"),
        ("eu-central-1", "aws"),
        ("cn-north-1", "aws-cn"),
        ("us-gov-west-1", "aws-us-gov"),
        ("us-iso-east-1", "aws-iso"),
        ("us-isob-east-1", "aws-iso-b"),
    ],
)
def test_a_region_has_its_partition(region: str, partition: str):
    assert partition_of(region) == partition
    assert managed_policy(region, "AmazonEKS_CNI_Policy") == f"arn:{partition}:iam::aws:policy/AmazonEKS_CNI_Policy"
