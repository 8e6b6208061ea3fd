"""A plan as files: what other tools, and people before an `up`, look at.

    resources.json       every resource: urn, type, name, parent, inputs, dependencies
    manifests/*.yaml     every Kubernetes object, one a file, fit for `kubectl apply`
    charts.json          every Helm release: chart, repository, version, namespace, values file
    values/*.yaml        the values of each release
    policies.json        what the policy pack found

Secrets are masked. `.eksai-plan` lists the files, so that the next plan replaces exactly these.
"""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import yaml

from automation.errors import EksaiError
from automation.plan import Plan
from automation.results import MASK
from localcloud.values import UNKNOWN, Secret
from localcloud.world import Registration

MARKER = ".eksai-plan"
_OWN = re.compile(r"(resources|charts|policies)\.json|(manifests|values)/[A-Za-z0-9._-]+\.yaml")
"""Names of files that a plan writes."""
RELEASE = "kubernetes:helm.sh/v3:Release"
KUBERNETES = "kubernetes:"


class OccupiedFolder(EksaiError):
    """The folder holds something that no plan wrote."""


def write_plan(plan: Plan, folder: Path) -> list[Path]:
    """Writes a plan's files and returns their paths.

    Args:
        plan: the plan.
        folder: a folder that is new, empty, or was written by an earlier plan.

    Raises:
        OccupiedFolder: the folder holds other files, or is none.
    """
    old = _files_of_an_earlier_plan(folder)
    files = dict(_files(plan))
    folder.mkdir(parents=True, exist_ok=True)
    # The list comes first: a plan that is interrupted half-way can still be replaced by the next one.
    (folder / MARKER).write_text("".join(f"{name}\n" for name in sorted({*old, *files})), encoding="utf-8")
    for name in old - files.keys():
        (folder / name).unlink(missing_ok=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / MARKER).write_text("".join(f"{name}\n" for name in sorted(files)), encoding="utf-8")
    return [folder / name for name in files]


def _files_of_an_earlier_plan(folder: Path) -> set[str]:
    marker = folder / MARKER
    if marker.is_file():
        listed = set(marker.read_text(encoding="utf-8").split("\n")) - {""}
        # The list says what to remove, so it is believed only as far as a plan could have written it.
        return {name for name in listed if _OWN.fullmatch(name)}
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OccupiedFolder(
            f"{folder} is not an empty folder and no plan wrote it, so nothing in it is touched.\n"
            "Name a new folder, or empty this one."
        )
    return set()


def _files(plan: Plan) -> Iterator[tuple[str, str]]:
    # By name: what does not wait for each other is registered in another order every time.
    yield "resources.json", _json(sorted(map(_entry, plan.resources), key=lambda entry: entry["urn"]))
    for resource in plan.made:
        if resource.type.startswith(KUBERNETES) and resource.type != RELEASE:
            yield f"manifests/{_manifest_name(resource)}.yaml", _yaml(masked(resource.inputs))
    releases = sorted((masked(r.inputs) for r in plan.made if r.type == RELEASE), key=lambda release: release["name"])
    yield "charts.json", _json([_chart(release) for release in releases])
    for release in releases:
        yield f"values/{_file_name(release['name'])}.yaml", _yaml(release.get("values", {}))
    yield "policies.json", _json([dataclasses.asdict(finding) for finding in plan.findings])


def _entry(resource: Registration) -> dict[str, Any]:
    return {
        "urn": resource.urn,
        "type": resource.type,
        "name": resource.name,
        "parent": resource.parent,
        "inputs": masked(resource.inputs),
        "dependencies": resource.dependencies,
    }


def _chart(release: Mapping[str, Any]) -> dict[str, Any]:
    """A release without its values; an OCI chart's address, or a mirror's file, is split into place and chart."""
    repository, _, chart = str(release["chart"]).rpartition("/")
    return {
        "release": release["name"],
        "chart": chart.removesuffix(f"-{release['version']}.tgz"),
        "repository": repository or release.get("repositoryOpts", {}).get("repo", ""),
        "version": release["version"],
        "namespace": release["namespace"],
        "values": f"values/{_file_name(release['name'])}.yaml",
    }


def _manifest_name(resource: Registration) -> str:
    metadata = resource.inputs.get("metadata", {})
    parts = (metadata.get("namespace", "cluster"), resource.inputs["kind"].lower(), metadata["name"])
    return "-".join(_file_name(part) for part in parts)


def _file_name(name: str) -> str:
    """A Kubernetes name as part of a file's name; RBAC objects may have colons."""
    return re.sub(r"[^A-Za-z0-9.-]", "_", name)


def masked(value: Any) -> Any:
    """A value for other eyes: secrets masked, unknowns told."""
    match value:
        case Secret():
            return MASK
        case _ if value is UNKNOWN:
            return "[known after up]"
        case Mapping():
            return {key: masked(item) for key, item in cast(Mapping[str, Any], value).items()}
        case list() | tuple():
            return [masked(item) for item in cast(list[Any], value)]
        case _:
            return value


def _json(value: object) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def _yaml(value: object) -> str:
    # Sorted: apiVersion, kind, metadata, spec is the order of the alphabet and of habit.
    return yaml.safe_dump(value, sort_keys=True, width=120)
