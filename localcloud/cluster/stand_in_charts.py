"""Small charts that Helm installs in place of the published ones, which a machine without their images cannot run.

A stand-in has the real CRDs, the service accounts that the values name, and a ConfigMap with the values: what other
objects and the stand-ins for controllers need of a release, and nothing that would run.
"""

import gzip
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from localcloud.api_groups import CRDS
from localcloud.cluster.crd_documents import CrdDocument

_SKELETON = Path(__file__).parent / "stand_in_chart"
_INNER = "charts/stand-in-crds"
"""The chart inside a stand-in that has its CRDs. Helm keeps a chart's own files with each release, in a Secret of one
megabyte, but not those of charts inside it: the CRDs of the Prometheus operator alone would not fit."""

_CRD_FOLDERS = {
    # Helm installs what lies in crds/ once. Files elsewhere reach the cluster through a template, and are upgraded.
    "first-install": "crds",
    "templated": "files",
    "hook": "files",
    "own-chart": None,
    "none": None,
}
"""Where a chart's CRDs lie in it, by how they are upgraded; None: it has none."""


@dataclass(frozen=True)
class StandIn:
    """A chart to write a stand-in for.

    Attributes:
        chart: the published chart's name.
        version: its exact version.
        crds: how its CRDs are upgraded, as the chart file says.
    """

    chart: str
    version: str
    crds: Literal["none", "own-chart", "templated", "hook", "first-install"]

    @property
    def file_name(self) -> str:
        """The name that `helm package` gives the chart's archive."""
        return f"{self.chart}-{self.version}.tgz"


@dataclass(frozen=True)
class WrittenStandIns:
    """What `write_stand_ins` has done.

    Attributes:
        files: the archives, in the order of the releases, whether they had to be written or were there.
        without_crds: charts that bring CRDs when they are published, and here bring none because none were given.
    """

    files: tuple[Path, ...]
    without_crds: tuple[str, ...]


def write_stand_ins(folder: Path, releases: Iterable[StandIn], crds: Iterable[CrdDocument]) -> WrittenStandIns:
    """Writes a stand-in for each release into a folder; what is there and right is left alone.

    Args:
        folder: where to; made if need be.
        releases: the charts.
        crds: CustomResourceDefinitions; each goes into the chart that brings its API group.
    """
    by_chart: dict[str, list[CrdDocument]] = {}
    for document in crds:
        by_chart.setdefault(CRDS.get(document.group, ""), []).append(document)
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    without: list[str] = []
    for release in releases:
        own = by_chart.get(release.chart, [])
        if not own and _CRD_FOLDERS[release.crds]:
            without.append(release.chart)
        path = folder / release.file_name
        _replace(path, _archive(release, own))
        files.append(path)
    return WrittenStandIns(tuple(files), tuple(without))


def _replace(path: Path, content: bytes) -> None:
    """Writes a file at once or not at all, unless it has the content already."""
    if path.is_file() and path.read_bytes() == content:
        return
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as unfinished:
        unfinished.write(content)
    try:
        os.replace(unfinished.name, path)
    except OSError:
        os.unlink(unfinished.name)
        raise


def _archive(release: StandIn, crds: Iterable[CrdDocument]) -> bytes:
    """The chart as Helm takes it; the same bytes for the same chart."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, text in sorted(_files(release, crds)):
            content = text.encode()
            # Owner, mode and time are tarfile's fixed defaults.
            entry = tarfile.TarInfo(f"{release.chart}/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)


def _files(release: StandIn, crds: Iterable[CrdDocument]) -> Iterator[tuple[str, str]]:
    yield "Chart.yaml", _metadata(release.chart, release.version)
    yield from _templates("templates")
    folder = _CRD_FOLDERS[release.crds]
    if folder:
        yield f"{_INNER}/Chart.yaml", _metadata("stand-in-crds", release.version)
        yield from _templates(f"{_INNER}/templates")
        for document in crds:
            yield f"{_INNER}/{folder}/{document.name}.yaml", document.text


def _metadata(name: str, version: str) -> str:
    """A Chart.yaml; JSON is YAML too."""
    what = "Stand-in of the local cloud: CRDs and values, nothing that runs"
    return json.dumps({"apiVersion": "v2", "name": name, "version": version, "description": what}, indent=2) + "\n"


@cache
def _templates(folder: str) -> tuple[tuple[str, str], ...]:
    paths = sorted((_SKELETON / folder).iterdir())
    return tuple((f"{folder}/{path.name}", path.read_text(encoding="utf-8")) for path in paths)
