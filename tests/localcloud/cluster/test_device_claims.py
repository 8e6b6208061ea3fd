"""Classes of devices and templates of claims, as the API server judges them."""

from typing import Any

import pytest
from lightkube import ApiError, Client
from lightkube.generic_resource import create_global_resource, create_namespaced_resource

from components.platform.dra import CLASSES, TEMPLATES, DeviceClaims
from tests.world import run

API = "resource.k8s.io/v1"
DEVICE_CLASS = create_global_resource("resource.k8s.io", "v1", "DeviceClass", "deviceclasses")
TEMPLATE = create_namespaced_resource("resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates")


def objects(kind: str) -> list[dict[str, Any]]:
    """The objects of a kind as a stack makes them."""
    built = run(lambda: DeviceClaims("device-claims", {"api_version": API, "namespace": "default"}))
    return [{key: r.inputs[key] for key in ("metadata", "spec")} for r in built.all(f"kubernetes:{API}:{kind}")]


def test_classes_are_taken_as_they_are(client: Client):
    for given in objects("DeviceClass"):
        taken = client.create(DEVICE_CLASS(given))
        assert taken["spec"] == given["spec"]
    assert {one.metadata.name for one in client.list(DEVICE_CLASS)} >= set(CLASSES)


def test_templates_keep_all_that_they_ask_for(client: Client):
    for given in objects("ResourceClaimTemplate"):
        taken = client.create(TEMPLATE(given))
        (asked,) = given["spec"]["spec"]["devices"]["requests"]
        (kept,) = taken["spec"]["spec"]["devices"]["requests"]
        assert asked["exactly"].items() <= kept["exactly"].items(), "a field that the API does not know would be gone"
    assert {one.metadata.name for one in client.list(TEMPLATE, namespace="default")} == set(TEMPLATES)


def test_an_expression_that_is_none_is_refused(client: Client):
    (given, *_) = objects("DeviceClass")
    broken = {"metadata": {"name": "broken"}, "spec": {"selectors": [{"cel": {"expression": "device.topology.node"}}]}}
    assert broken.keys() == given.keys()
    with pytest.raises(ApiError, match="topology"):
        client.create(DEVICE_CLASS(broken))
