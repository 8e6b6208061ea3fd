"""Classes of devices and templates of claims for GPUs that DRA allocates.

The form of parameters and attributes is that of NVIDIA's driver 0.4.1 (`api/nvidia.com/resource/v1beta1`).
"""

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
from typing_extensions import TypedDict

DRIVER = "gpu.nvidia.com"
"""The driver's name, its attributes' domain, and the class of whole GPUs that its chart makes."""

_FIRST_STABLE = (1, 34)


def resource_api_version(cluster_version: str) -> str:
    """The version of DRA's API to speak; those before 1.34 serve only the beta.

    Args:
        cluster_version: Kubernetes version, such as `1.35`.
    """
    major, minor = cluster_version.split(".")
    return "resource.k8s.io/v1" if (int(major), int(minor)) >= _FIRST_STABLE else "resource.k8s.io/v1beta2"


def _shared(**sharing: Any) -> dict[str, Any]:
    """The spec of a class of whole GPUs that the holders of a claim share."""
    parameters = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", "sharing": sharing}
    return {
        "selectors": _selectors("gpu"),
        "config": [{"opaque": {"driver": DRIVER, "parameters": parameters}}],
    }


def _selectors(kind: str, *conditions: str) -> list[dict[str, Any]]:
    # An attribute of another driver's device would be an error and end the allocation: the driver comes first.
    of_the_driver = f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].type == '{kind}'"
    return [{"cel": {"expression": " && ".join([of_the_driver, *conditions])}}]


CLASSES: Mapping[str, dict[str, Any]] = {
    "mig-3g-20gb": {"selectors": _selectors("mig", f"device.attributes['{DRIVER}'].profile == '3g.20gb'")},
    "gpu-time-slicing": _shared(strategy="TimeSlicing", timeSlicingConfig={"interval": "Default"}),
    "gpu-mps-50": _shared(strategy="MPS", mpsConfig={"defaultActiveThreadPercentage": 50}),
}
"""Specs of DeviceClasses by name. A class belongs to the whole cluster: claims of every namespace can name it."""

TEMPLATES: Mapping[str, dict[str, Any]] = {
    **{name: {"deviceClassName": name} for name in CLASSES},
    # All GPUs of one claim are those of one node, where NVLink joins them. No constraint says more: the GPUs of an
    # instance with eight do not stand below one PCIe root.
    "gpu-x8": {"deviceClassName": DRIVER, "allocationMode": "ExactCount", "count": 8},
}
"""What the one request of each ResourceClaimTemplate asks for."""


class DeviceClaimsArgs(TypedDict):
    """What classes and templates need."""

    api_version: str
    """Version of DRA's API that the cluster serves."""
    namespace: str
    """Where the templates are: pods name those of their own namespace."""


class DeviceClaims(pulumi.ComponentResource):
    """DeviceClasses, and ResourceClaimTemplates of the same names."""

    def __init__(self, name: str, args: DeviceClaimsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:DeviceClaims", name, {}, opts)
        child = pulumi.ResourceOptions(parent=self)
        for class_name, spec in CLASSES.items():
            kubernetes.apiextensions.CustomResource(
                f"{class_name}-class",
                api_version=args["api_version"],
                kind="DeviceClass",
                metadata={"name": class_name},
                spec=spec,
                opts=child,
            )
        for template, request in TEMPLATES.items():
            kubernetes.apiextensions.CustomResource(
                template,
                api_version=args["api_version"],
                kind="ResourceClaimTemplate",
                metadata={"name": template, "namespace": args["namespace"]},
                spec={"spec": {"devices": {"requests": [{"name": "gpu", "exactly": request}]}}},
                opts=child,
            )
        self.register_outputs({})
