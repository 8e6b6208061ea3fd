"""Whether an object fits its published definition; see `tests.compute.crds`."""

from functools import cache
from typing import Any

import pytest
import yaml

from tests.compute.crds import FOLDER, violations

FILES = {"RayCluster": "ray.io_raycluster.yaml", "PodMonitor": "monitoring.coreos.com_podmonitor.yaml"}


@cache
def schema(kind: str) -> dict[str, Any]:
    """The schema of a kind's spec in its version v1; skips the test where the definitions are not at hand."""
    path = FOLDER / FILES[kind]
    if not path.exists():
        pytest.skip(f"the CRD of {kind} is not at hand: {path}")
    versions = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)["spec"]["versions"]
    (version,) = (version for version in versions if version["name"] == "v1")
    return version["schema"]["openAPIV3Schema"]["properties"]["spec"]


def misfits(kind: str, spec: Any) -> list[str]:
    """What of a spec does not fit its kind."""
    return violations(schema(kind), spec)
