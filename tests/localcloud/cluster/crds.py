"""The published CRDs, installed and waited for."""

import gzip
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from lightkube import ApiError, Client
from lightkube.generic_resource import create_global_resource, create_namespaced_resource

from localcloud.cluster.kinds import CRD

SCHEMAS = Path(__file__).parents[4] / "shared" / "schemas"
ESTABLISHED_S = 30.0


def install_published(client: Client, pattern: str) -> None:
    """Installs the CRDs whose files match a pattern; a test that wants them is skipped where there are none."""
    files = sorted(SCHEMAS.glob(pattern))
    if not files:
        pytest.skip(f"no published CRDs {pattern} in {SCHEMAS}")
    for file in files:
        text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        crd = yaml.load(text, yaml.CSafeLoader)
        # The webhooks that convert between versions do not run here.
        crd["spec"].pop("conversion", None)
        _establish(client, crd)


def _establish(client: Client, crd: dict[str, Any]) -> None:
    try:
        client.create(CRD(crd))
    except ApiError as error:
        if error.status.code != 409:
            raise
    deadline = time.monotonic() + ESTABLISHED_S
    while not _is_served(client, crd):
        assert time.monotonic() < deadline, f"{crd['metadata']['name']} is not served"
        time.sleep(0.1)


def _is_served(client: Client, crd: dict[str, Any]) -> bool:
    """Not only established: for a moment more the API server answers that its storage is initializing."""
    spec = crd["spec"]
    make = create_namespaced_resource if spec["scope"] == "Namespaced" else create_global_resource
    version = next(one["name"] for one in spec["versions"] if one["served"])
    try:
        list(client.list(make(spec["group"], version, spec["names"]["kind"], spec["names"]["plural"])))
    except httpx2.HTTPStatusError:
        return False
    return True
