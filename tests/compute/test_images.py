"""What an `ami` setting names."""

import pytest

from components.accelerators import Vendor
from components.compute.images import first_release, parse, variant_for

AL2023 = "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023"


@pytest.mark.parametrize(
    ("ami", "family", "release"),
    [
        ("bottlerocket@v1.66.0", "bottlerocket", "1.66.0"),
        ("bottlerocket@latest", "bottlerocket", None),
        ("al2023@v20260714", "al2023", "20260714"),
        ("al2023@latest", "al2023", None),
    ],
)
def test_an_alias_names_family_and_release(ami: str, family: str, release: str | None):
    image = parse(ami)
    assert (image.family, image.release, image.parameter) == (family, release, None)


@pytest.mark.parametrize(
    ("ami", "family", "variant", "architecture", "release"),
    [
        ("/aws/service/bottlerocket/aws-k8s-1.35/arm64/1.66.0/image_id", "bottlerocket", "standard", "arm64", "1.66.0"),
        (
            "/aws/service/bottlerocket/aws-k8s-1.35-nvidia-fips/x86_64/latest/image_id",
            *("bottlerocket", "nvidia", "amd64", None),
        ),
        (f"{AL2023}/x86_64/neuron/recommended/image_id", "al2023", "neuron", "amd64", None),
        (
            f"{AL2023}/arm64/standard/amazon-eks-node-al2023-arm64-standard-1.35-v20260714/image_id",
            *("al2023", "standard", "arm64", "20260714"),
        ),
    ],
)
def test_a_parameter_names_one_variant(ami: str, family: str, variant: str, architecture: str, release: str | None):
    image = parse(ami)
    assert (image.family, image.variant, image.architecture, image.release) == (family, variant, architecture, release)
    assert (image.parameter, image.version) == (ami, "1.35")


@pytest.mark.parametrize(
    "ami",
    [
        "al2@latest",
        "bottlerocket@1.66.0",
        "bottlerocket@v20260714",
        "ami-0123456789",
        "/my/golden/image",
        f"{AL2023}/x86_64/nvidia/amazon-eks-node-al2023-x86_64-standard-1.35-v20260714/image_id",
    ],
    ids=str,
)
def test_nothing_else_is_an_image(ami: str):
    with pytest.raises(ValueError, match="names no image"):
        parse(ami)


@pytest.mark.parametrize(
    ("family", "vendor", "variant"),
    [
        ("bottlerocket", Vendor.NVIDIA, "nvidia"),
        ("bottlerocket", Vendor.NEURON, "standard"),
        ("bottlerocket", None, "standard"),
        ("al2023", Vendor.NVIDIA, "nvidia"),
        ("al2023", Vendor.NEURON, "neuron"),
        ("al2023", None, "standard"),
    ],
)
def test_each_family_has_its_drivers_in_its_own_variants(family: str, vendor: Vendor | None, variant: str):
    assert variant_for(family, vendor) == variant


@pytest.mark.parametrize(
    ("ami", "version", "first"),
    [
        ("bottlerocket@v1.52.0", "1.35", "1.53.0"),
        ("bottlerocket@v1.53.0", "1.35", None),
        ("bottlerocket@v1.9.0", "1.34", "1.47.0"),
        ("bottlerocket@v1.52.0", "1.33", None),
        ("bottlerocket@latest", "1.36", None),
        ("al2023@v20260505", "1.36", "20260610"),
        ("al2023@v20260714", "1.36", None),
    ],
)
def test_a_release_older_than_a_version_has_no_image_for_it(ami: str, version: str, first: str | None):
    assert first_release(parse(ami), version) == first
