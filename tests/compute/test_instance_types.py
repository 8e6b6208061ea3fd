"""The table of instance types and its look-ups."""

import pytest

from components.accelerators import Vendor
from components.compute.instance_types import architectures_of, efa_interfaces_of, nearest, table, vendor_of


@pytest.mark.parametrize(
    ("name", "vendor", "accelerator", "accelerators", "efa"),
    [
        ("g5.xlarge", Vendor.NVIDIA, "a10g", 1, 0),
        ("g4dn.xlarge", Vendor.NVIDIA, "t4", 1, 0),
        ("p4d.24xlarge", Vendor.NVIDIA, "a100", 8, 4),
        ("p5.48xlarge", Vendor.NVIDIA, "h100", 8, 32),
        ("inf2.xlarge", Vendor.NEURON, "inferentia2", 1, 0),
        ("trn1.32xlarge", Vendor.NEURON, "trainium", 16, 8),
        ("m7g.xlarge", None, "", 0, 0),
    ],
)
def test_the_table_knows_what_a_type_carries(name, vendor, accelerator, accelerators, efa):
    row = table()[name]
    assert (row.vendor, row.accelerator, row.accelerators, row.efa) == (vendor, accelerator, accelerators, efa)


def test_every_accelerator_type_counts_its_devices():
    uncounted = [row.name for row in table().values() if bool(row.accelerator) != (row.accelerators > 0)]
    assert not uncounted, "a pool of such a type could not be limited"


def test_graviton_is_arm64():
    assert architectures_of(["m7g.xlarge", "c7g.large"]) == ["arm64"]
    assert architectures_of(["m7g.xlarge", "m7i.xlarge"]) == ["amd64", "arm64"]


def test_types_of_one_vendor_have_a_vendor():
    assert vendor_of(["g5.xlarge", "p5.48xlarge"]) is Vendor.NVIDIA
    assert vendor_of(["m7g.xlarge"]) is None


@pytest.mark.parametrize("mixed", [("g5.xlarge", "m7g.xlarge"), ("g5.xlarge", "inf2.xlarge")])
def test_mixed_kinds_have_no_vendor(mixed):
    with pytest.raises(ValueError, match="mix"):
        vendor_of(mixed)


def test_a_misspelt_type_finds_its_neighbours():
    assert nearest("g5.xlrage")[0] == "g5.xlarge"
    assert nearest("quantum") == []


def test_types_with_the_same_number_of_efa_interfaces_share_it():
    assert efa_interfaces_of(["p4d.24xlarge", "p4de.24xlarge"]) == 4


@pytest.mark.parametrize("names", [("p4d.24xlarge", "p5.48xlarge"), ("g5.xlarge",)])
def test_types_that_differ_in_efa_or_have_none_share_nothing(names):
    with pytest.raises(ValueError, match="EFA interfaces"):
        efa_interfaces_of(names)
