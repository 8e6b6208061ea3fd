"""Classes of devices and templates of claims."""

import re

import pytest

from components.platform.dra import CLASSES, DRIVER, TEMPLATES, DeviceClaims, resource_api_version
from schema.compute import Cluster
from tests.world import Built, run

API = "resource.k8s.io/v1"
CUSTOM = "kubernetes:{api}:{kind}"


def claims(api: str = API) -> Built[DeviceClaims]:
    return run(lambda: DeviceClaims("device-claims", {"api_version": api, "namespace": "ml"}))


@pytest.mark.parametrize(
    ("version", "api"),
    [("1.33", "v1beta2"), ("1.34", "v1"), ("1.35", "v1"), ("1.36", "v1")],
)
def test_the_api_is_spoken_in_the_version_that_the_cluster_serves(version: str, api: str):
    assert resource_api_version(version) == f"resource.k8s.io/{api}"
    spoken = {r.type.split(":")[1] for r in claims(f"resource.k8s.io/{api}").resources if "kubernetes:" in r.type}
    assert spoken == {f"resource.k8s.io/{api}"}


def test_every_version_that_the_settings_take_has_an_api():
    versions = re.findall(r"1\.\d+", str(Cluster.model_fields["version"].annotation))
    assert len(versions) >= 4
    assert all(resource_api_version(version) for version in versions)


def test_templates_name_classes_that_there_are():
    named = {request["deviceClassName"] for request in TEMPLATES.values()}
    assert named == {*CLASSES, DRIVER}, "the driver's chart makes the class of whole GPUs"


def test_a_request_is_exact_as_both_versions_of_the_api_want_it():
    for name in TEMPLATES:
        made = claims().named(name, f"kubernetes:{API}:ResourceClaimTemplate").inputs
        assert made["metadata"]["namespace"] == "ml"
        (request,) = made["spec"]["spec"]["devices"]["requests"]
        assert set(request) == {"name", "exactly"}


def test_a_partition_is_chosen_by_its_profile_among_partitions():
    (selector,) = CLASSES["mig-3g-20gb"]["selectors"]
    assert "type == 'mig'" in selector["cel"]["expression"]
    assert f"device.attributes['{DRIVER}'].profile == '3g.20gb'" in selector["cel"]["expression"]


def test_a_driver_is_asked_for_before_its_attributes():
    """An attribute that a device lacks is an error, which ends the allocation."""
    for spec in CLASSES.values():
        for selector in spec["selectors"]:
            assert selector["cel"]["expression"].startswith(f"device.driver == '{DRIVER}' && ")


def test_sharing_says_what_the_driver_reads():
    configs = {name: spec["config"] for name, spec in CLASSES.items() if "config" in spec}
    parameters = {name: config["opaque"]["parameters"] for name, (config,) in configs.items()}
    assert {one["apiVersion"] for one in parameters.values()} == {"resource.nvidia.com/v1beta1"}
    assert parameters["gpu-time-slicing"]["sharing"] == {
        "strategy": "TimeSlicing",
        "timeSlicingConfig": {"interval": "Default"},
    }
    assert parameters["gpu-mps-50"]["sharing"] == {
        "strategy": "MPS",
        "mpsConfig": {"defaultActiveThreadPercentage": 50},
    }


def test_a_claim_holds_no_more_devices_than_kubernetes_lets_it():
    assert TEMPLATES["gpu-x8"]["count"] == 8 <= 32
