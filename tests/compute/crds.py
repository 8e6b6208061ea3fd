"""Whether an object fits its CustomResourceDefinition: structure, enums, patterns and bounds of the real one.

The definitions are published by the projects and not part of this repository; without them these checks are skipped.
The rules in CEL (x-kubernetes-validations) are judged by an API server only.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parents[2].parent / "shared" / "schemas" / "crds"
FILES = {
    "EC2NodeClass": "karpenter.k8s.aws_ec2nodeclass.yaml",
    "NodePool": "karpenter.sh_nodepool.yaml",
    "NodeOverlay": "karpenter.sh_nodeoverlay.yaml",
}
# As a program registers it a value may still be a number where the API server takes a quantity.
_TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}


@cache
def schema(kind: str) -> dict[str, Any]:
    """The schema of a kind's spec; skips the test where the definitions are not at hand."""
    path = FOLDER / FILES[kind]
    if not path.exists():
        pytest.skip(f"the CRD of {kind} is not at hand: {path}")
    (version,) = yaml.safe_load(path.read_text(encoding="utf-8"))["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]["properties"]["spec"]


def violations(schema: dict[str, Any], value: Any, path: str = "spec") -> list[str]:
    """What of a value does not fit a schema, by path."""
    expected = schema.get("type")
    if expected and (not isinstance(value, _TYPES[expected]) or (expected == "integer" and isinstance(value, bool))):
        return [f"{path} is {value!r}, not of type {expected}"]
    found: list[str] = []
    if value not in schema.get("enum", [value]):
        found.append(f"{path} is {value!r}, not one of {schema['enum']}")
    pattern = schema.get("pattern")
    if pattern and isinstance(value, str) and not re.search(pattern, value):
        found.append(f"{path} is {value!r}, which does not match {pattern}")
    size = value if isinstance(value, int) else len(value)
    for bounds in (("minimum", "maximum"), ("minItems", "maxItems"), ("minLength", "maxLength")):
        least, most = (schema.get(bound) for bound in bounds)
        # In these two definitions maxLength also stands beside lists of texts, for each of them.
        if isinstance(value, list) and bounds[0] == "minLength":
            continue
        if (least is not None and size < least) or (most is not None and size > most):
            found.append(f"{path} is {value!r}, outside {least}..{most}")
    if isinstance(value, dict):
        properties, further = schema.get("properties", {}), schema.get("additionalProperties")
        found += [f"{path}.{key} is required" for key in schema.get("required", []) if key not in value]
        for key, item in value.items():
            inner = properties.get(key, further)
            if isinstance(inner, dict):
                found += violations(inner, item, f"{path}.{key}")
            elif not schema.get("x-kubernetes-preserve-unknown-fields"):
                found.append(f"{path}.{key} is unknown")
    if isinstance(value, list):
        for index, item in enumerate(value):
            found += violations(schema["items"], item, f"{path}[{index}]")
    return found
