"""CustomResourceDefinitions of the charts that the platform installs: from a folder, or from Go modules."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from localcloud.api_groups import CRDS
from localcloud.cluster.crd_documents import CrdDocument, each_once, read_folder, with_field
from tools.engine.errors import BuildError
from tools.engine.programs import cache_folder

DOWNLOAD_S = 300
"""How long the download of one module may take; the largest has six megabytes."""


@dataclass(frozen=True)
class CrdModule:
    """A Go module that holds a chart's CRDs.

    Attributes:
        chart: the chart that brings them, as `localcloud.api_groups` names it.
        module: the module's path.
        version: its version, the chart's own unless a comment says why not.
        folder: where in it they lie.
        digest: what its content must add up to, as in a go.sum.
    """

    chart: str
    module: str
    version: str
    folder: str
    digest: str

    def __str__(self) -> str:
        return f"{self.module}@{self.version}"


MODULES = (
    CrdModule(
        "karpenter-crd",
        "github.com/aws/karpenter-provider-aws",
        "v1.14.1",
        "pkg/apis/crds",
        "h1:WGtIQTQcxpElYMdWfWuPwaF2+9muR+hYhPZsTtoY8Gs=",
    ),
    CrdModule(
        "prometheus-operator-crds",
        "github.com/prometheus-operator/prometheus-operator",
        "v0.93.1",
        "example/prometheus-operator-crd",
        "h1:4Juk8v93RdG1DSGD/mGp+SeQKPmnlLIj2iq3blLZgFY=",
    ),
    CrdModule(
        "cert-manager",
        "github.com/cert-manager/cert-manager",
        "v1.21.1",
        "deploy/crds",
        "h1:0LttV37Q5c2CBNoHkjuI8sLKTXWZDC2SwQkxrBMKV9w=",
    ),
    # Not the chart's own 2.9.0, which is no Go module: its versions from 2 on lack the path that Go asks for. Kinds and
    # served version are the same.
    CrdModule(
        "external-secrets",
        "github.com/external-secrets/external-secrets",
        "v0.20.4",
        "config/crds/bases",
        "h1:HhNAjWfFEshhItphr28SGsHzf2bUP7uDAOVLg76uNAg=",
    ),
    CrdModule(
        "gateway-api",
        "sigs.k8s.io/gateway-api",
        "v1.6.1",
        "config/crd/standard",
        "h1:mock6phZbI6rvZerwrVNk7hVNymQgHo+6sJ81Ia7ftY=",
    ),
    CrdModule(
        "dra-driver-nvidia-gpu",
        "sigs.k8s.io/dra-driver-nvidia-gpu",
        "v0.4.1",
        "deployments/helm/dra-driver-nvidia-gpu/crds",
        "h1:up4wTyW4UxLDB8I+pDOhQ1+F3Ol2f/qHgN4v6vlcPEc=",
    ),
    CrdModule(
        "kueue",
        "sigs.k8s.io/kueue",
        "v0.19.2",
        "config/components/crd/bases",
        "h1:mPNzr37u0nwI7ikST5QQl5gg6EgtYOAvC9ZbTgywdN8=",
    ),
    CrdModule(
        "jobset",
        "sigs.k8s.io/jobset",
        "v0.12.0",
        "charts/jobset/crds",
        "h1:YYPuV0px8Ongq/RXmJg6V0w2UC67aiR+rCMD06vhQQQ=",
    ),
    CrdModule(
        "kubeflow-trainer",
        "github.com/kubeflow/trainer/v2",
        "v2.3.0",
        "manifests/base/crds",
        "h1:Je+e7zvTLzB4qW09J1fB7pZrqvPtWuGng2NqdN5p5QU=",
    ),
    # The chart has them with labels of its release, bounds of two fields of ScaledObjects and a looser ScaledJob.
    CrdModule(
        "keda",
        "github.com/kedacore/keda/v2",
        "v2.20.2",
        "config/crd/bases",
        "h1:SR60v8uIcelbveS8n/1jcl8tLdBBIbHMxmdOHw8tKqA=",
    ),
)
"""Modules that the module proxy serves, that hold the same CRDs as the chart of the same version. Not served at the
charts' versions (2026-11-30): kuberay, external-secrets, aws-load-balancer-controller, gpu-operator, argo-workflows."""

LATER_FIELDS = {
    "clickhouseclusters.clickhouse.com": (
        "externalSecret",
        "{type: object, required: [name], "
        "properties: {name: {type: string}, policy: {type: string, enum: [Observe, Manage]}}}",
    ),
}
"""Fields of `spec` that the chart's version has, and the published CRDs that can be had lack: those of ClickHouse's
operator are of February 2026 (0.0.2), and the field came in May."""


@dataclass(frozen=True)
class CrdFiles:
    """CustomResourceDefinitions found.

    Attributes:
        documents: each definition, once.
        charts_without: charts that bring CRDs and that none were found for. On the local cloud their kinds stay
            unknown, so that whatever needs one is refused: whoever calls has to say so.
    """

    documents: tuple[CrdDocument, ...]
    charts_without: tuple[str, ...]


def crd_files(schemas: Path | None, charts: Collection[str] | None = None, cache: Path | None = None) -> CrdFiles:
    """The CRDs that charts bring when they are installed.

    Args:
        schemas: a folder with `crds/*.yaml`, `crds-gz/*.yaml.gz` or both; of a CRD that is in both, the one in `crds`
            counts. None: what Go modules hold, downloaded once on this machine.
        charts: the charts to look for; None: every one that is known to bring CRDs.
        cache: where downloaded CRDs are kept, by default beside the built programs.

    Raises:
        BuildError: the folder has no CRDs, or there is no Go, or a module could not be downloaded.
    """
    wanted = {*CRDS.values()} if charts is None else {*CRDS.values()} & {*charts}
    found = _of_folder(schemas) if schemas is not None else _of_modules(wanted, cache or cache_folder())
    documents = tuple(
        with_field(document, *LATER_FIELDS[document.name]) if document.name in LATER_FIELDS else document
        for document in each_once(document for document in found if CRDS.get(document.group) in wanted)
    )
    given = {CRDS[document.group] for document in documents}
    return CrdFiles(documents, tuple(sorted(wanted - given)))


def _of_folder(schemas: Path) -> list[CrdDocument]:
    try:
        documents = [*read_folder(schemas / "crds"), *read_folder(schemas / "crds-gz")]
    except (OSError, ValueError) as error:
        raise BuildError(f"The CRDs in {schemas} cannot be read: {error}") from error
    if not documents:
        raise BuildError(
            f"{schemas} has no CRDs: neither crds/*.yaml nor crds-gz/*.yaml.gz.\n"
            "Name the folder that holds these two, or none to take them from Go modules."
        )
    return documents


def _of_modules(charts: Collection[str], cache: Path) -> Iterator[CrdDocument]:
    for module in MODULES:
        if module.chart in charts:
            yield from read_folder(_kept(module, cache))


def _kept(module: CrdModule, cache: Path) -> Path:
    """The folder of a module's CRDs in the cache, filled first unless it was before."""
    kept = cache / "crds" / f"{module.chart}-{module.version}"
    if kept.is_dir():
        return kept
    files = [*(_download(module) / module.folder).glob("*.yaml")]
    if not files:
        raise BuildError(f"{module} has no CRDs in {module.folder}: the table in tools/engine/crds.py is wrong.")
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix=f".{kept.name}.") as scratch:
        unfinished = Path(scratch) / kept.name
        unfinished.mkdir()
        for path in files:
            # Not its mode: Go's own files are read-only.
            shutil.copyfile(path, unfinished / path.name)
        try:
            unfinished.rename(kept)
        except OSError:
            # Another process was faster, which is as good.
            if not kept.is_dir():
                raise
    return kept


def _download(module: CrdModule) -> Path:
    """The module's folder in Go's cache of downloads.

    Raises:
        BuildError: there is no Go, the download failed, or what came is not what was published.
    """
    go = shutil.which("go")
    if go is None:
        raise BuildError(
            f"No `go` command was found, and the CRDs of {module.chart} come as a Go module ({module}).\n"
            "Install Go (https://go.dev/dl, or your package manager), or name a folder that holds CRDs."
        )
    # The digest is checked here, so Go need not ask the checksum database, which a private network does not reach.
    environment = {**os.environ, "GOSUMDB": "off", "GOWORK": "off", "GOFLAGS": "-mod=mod"}
    try:
        answer = subprocess.run(
            [go, "mod", "download", "-json", str(module)],
            env=environment,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            timeout=DOWNLOAD_S,
        )
    except subprocess.TimeoutExpired as error:
        raise BuildError(_explain(module, f"no answer within {DOWNLOAD_S} seconds")) from error
    told = json.loads(answer.stdout) if answer.stdout.startswith("{") else {}
    if answer.returncode != 0 or "Dir" not in told:
        raise BuildError(_explain(module, told.get("Error") or answer.stderr.strip()))
    if told["Sum"] != module.digest:
        raise BuildError(
            f"{module} is not what was published: its content adds up to {told['Sum']} and not to {module.digest}.\n"
            "Ask whoever runs the module proxy; `go env GOPROXY` prints which one that is."
        )
    return Path(told["Dir"])


def _explain(module: CrdModule, reason: str) -> str:
    return (
        f"The CRDs of {module.chart} could not be downloaded ({module}):\n{reason}\n"
        "Check the network, point GOPROXY at a module proxy that it can reach, or name a folder that holds CRDs."
    )
