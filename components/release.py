"""One Helm release from one chart file.

A chart file is YAML: repository, chart, exact version, namespace and values. A value that is known only once
something else exists is written `${fact}`; the facts are a closed list, so that a wrong name fails when the file is
read and not in the cluster.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, cast

import pulumi
import pulumi_kubernetes as kubernetes
import yaml
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

FACTS = frozenset({"cluster_name", "cluster_endpoint", "interruption_queue", "region", "reserved_enis", "vpc_id"})
"""Every fact that a chart file may refer to."""

_FACT = re.compile(r"\$\{(\w+)\}")
_TIMEOUT_S = 600
"""Seconds that Helm waits for a release's objects: images are pulled and probes pass well within."""


ImageRepository = Annotated[str, Field(pattern=r"^[a-z0-9-]+(\.[a-z0-9-]+)+(:\d+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$")]


class ChartIdentity(BaseModel):
    """The AWS identity of a chart's pods."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    service_account: str
    """The service account that has it; the chart makes it."""
    policies: Annotated[tuple[str, ...], Field(min_length=1)]
    """Policy documents in the layer's `policies/` folder, without `.json`."""


class ChartFile(BaseModel):
    """What a chart file says."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    repository: Annotated[str, Field(pattern=r"^(oci|https)://[\w./-]+$")]
    """Where the chart is published: an OCI registry's folder or a repository's address."""
    chart: str
    """The chart's name."""
    version: Annotated[str, Field(pattern=r"^v?\d+\.\d+\.\d+$")]
    """Exact version."""
    namespace: str
    """Namespace of the release; it exists beforehand."""
    data_version: str | None = None
    """The version of what its pods store, for a chart whose upgrades migrate that without a way back; a stack says it
    too, so that nothing is migrated unannounced."""
    works_in: tuple[str, ...] = ()
    """Further namespaces that the chart puts objects into; they exist beforehand too."""
    crds: Literal["none", "own-chart", "templated", "hook", "first-install"]
    """How the chart's CRDs are upgraded: it has none, another chart has them, they are templates of it, a hook
    applies them, or Helm installs them once and never again."""
    architectures: Sequence[Literal["amd64", "arm64"]]
    """CPU architectures of the chart's images."""
    needs: tuple[str, ...] = ()
    """Chart files of the same layer whose releases must be ready first."""
    after: tuple[str, ...] = ()
    """Chart files of the same layer whose releases come first where a stack has them; it works without them too."""
    identity: ChartIdentity | None = None
    """What its pods may do in AWS; left out: nothing."""
    requests: tuple[str, ...] = ()
    """Where in the values the resources of its controllers are, as dotted paths."""
    tolerations: tuple[str, ...] = ()
    """Where in the values the tolerations of pods on accelerator nodes are, as dotted paths."""
    images: Mapping[str, ImageRepository] = {}
    """Where in the values the repositories of its images are, as dotted paths, and what the chart itself says there,
    from the registry's host on. A chart that splits an image over several values has the one with the host here."""
    values: dict[str, Any] = {}
    """Values, as Helm takes them."""


@cache
def read_chart(path: Path) -> ChartFile:
    """Reads and checks a chart file.

    Raises:
        ValueError: the file breaks the form above, or refers to a fact that there is none of.
    """
    chart = ChartFile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    unknown = facts_in(chart.values) - FACTS
    if unknown:
        raise ValueError(f"{path.name}: no such fact: {', '.join(sorted(unknown))}; known: {', '.join(sorted(FACTS))}")
    return chart


class MirrorIncomplete(pulumi.RunError):
    """The folder that mirrors the charts is missing, or lacks some of them.

    A `RunError`, which language hosts print without a traceback.
    """


@dataclass(frozen=True)
class ChartSource:
    """Where charts and their images come from: from where each is published, or all from one mirror."""

    mirror: str | None = None
    """An OCI registry's path (`oci://...`), or the absolute path of a folder of `<chart>-<version>.tgz` files."""
    image_registry: str | None = None
    """Host and path that stand for the host of every image; None leaves each where its chart says."""

    def images(self, chart: ChartFile) -> dict[str, Any]:
        """The values that name a chart's images in the registry; none where there is no registry."""
        values: dict[str, Any] = {}
        if self.image_registry is None:
            return values
        for place, repository in chart.images.items():
            _, slash, path = repository.partition("/")
            values = overlaid(values, nested(place, f"{self.image_registry}{slash}{path}"))
        return values

    def address(self, chart: ChartFile) -> str:
        """What Helm is told as the chart: its address, its file, or its name where a repository is told beside it."""
        folder = self._folder
        if folder is not None:
            return str(folder / _archive(chart))
        if self.mirror is not None:
            return f"{self.mirror}/{chart.chart}"
        return f"{chart.repository}/{chart.chart}" if chart.repository.startswith("oci://") else chart.chart

    def repository(self, chart: ChartFile) -> str | None:
        """The repository that Helm looks the chart's name up in; None where the address says it all."""
        return None if self.mirror is not None or chart.repository.startswith("oci://") else chart.repository

    def check(self, chart_files: Iterable[Path]) -> None:
        """Looks whether a mirror that is a folder has the charts; of a registry only Helm can tell.

        Args:
            chart_files: paths of the chart files that are going to be installed.

        Raises:
            MirrorIncomplete: the folder does not exist, or lacks a chart.
        """
        folder = self._folder
        if folder is None:
            return
        wanted = [_archive(read_chart(path)) for path in chart_files]
        missing = [name for name in wanted if not (folder / name).is_file()]
        if missing:
            state = "lacks" if folder.is_dir() else "is no folder on this machine and should hold"
            raise MirrorIncomplete(
                f"eksai:charts.mirror: {folder} {state} {', '.join(missing)}. Put them there, each as `helm pull` "
                "names it (docs/charts.md), or leave the mirror out to take charts from where they are published."
            )

    @property
    def _folder(self) -> Path | None:
        return Path(self.mirror) if self.mirror is not None and not self.mirror.startswith("oci://") else None


def _archive(chart: ChartFile) -> str:
    return f"{chart.chart}-{chart.version}.tgz"


def facts_in(value: object) -> set[str]:
    """The facts that a value refers to, however deep."""
    match value:
        case str():
            return set(_FACT.findall(value))
        case dict():
            return set[str]().union(*(facts_in(item) for item in cast(dict[str, object], value).values()))
        case list():
            return set[str]().union(*(facts_in(item) for item in cast(list[object], value)))
        case _:
            return set()


def fill(value: Any, facts: Mapping[str, pulumi.Input[str]]) -> Any:
    """A value with its facts put in; Outputs stay Outputs.

    Raises:
        KeyError: a fact is not given.
    """
    match value:
        case str() if used := _FACT.findall(value):
            return pulumi.Output.all(**{name: facts[name] for name in used}).apply(
                lambda known: _FACT.sub(lambda place: known[place[1]], value)
            )
        case dict():
            return {key: fill(item, facts) for key, item in cast(dict[str, Any], value).items()}
        case list():
            return [fill(item, facts) for item in cast(list[Any], value)]
        case _:
            return value


def overlaid(values: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Values with others laid over them, as Helm does it: maps are merged, everything else is replaced."""
    merged = dict(values)
    for key, item in over.items():
        below = merged.get(key)
        if isinstance(below, Mapping) and isinstance(item, Mapping):
            item = overlaid(cast(Mapping[str, Any], below), cast(Mapping[str, Any], item))
        merged[key] = item
    return merged


def nested(path: str, value: Any) -> dict[str, Any]:
    """Values with one thing in them.

    Args:
        path: where it stands, as a dotted path such as `webhook.image.repository`.
        value: what stands there.
    """
    key, _, rest = path.partition(".")
    return {key: nested(rest, value) if rest else value}


class ReleaseArgs(TypedDict):
    """What a release needs."""

    chart_file: str
    """Path of the chart file."""
    charts: ChartSource
    """Where the chart and its images come from."""
    facts: Mapping[str, pulumi.Input[str]]
    """The facts that its values refer to."""
    values: NotRequired[Mapping[str, Any]]
    """Values laid over those of the chart file, and over where its images come from."""


class Release(pulumi.ComponentResource):
    """A Helm release, named like the component."""

    def __init__(self, name: str, args: ReleaseArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("eksai:index:Release", name, {}, opts)
        chart = read_chart(Path(args["chart_file"]))
        repository = args["charts"].repository(chart)
        values = overlaid(chart.values, args["charts"].images(chart))
        kubernetes.helm.v3.Release(
            name,
            # Without it the provider would add a random suffix, and other objects could not know the names inside.
            name=name,
            chart=args["charts"].address(chart),
            repository_opts=None if repository is None else {"repo": repository},
            # Helm does not read it where the chart is a file; it tells people and programs, and an upgrade shows.
            version=chart.version,
            namespace=chart.namespace,
            create_namespace=False,
            skip_crds=chart.crds in ("none", "own-chart"),
            max_history=5,
            timeout=_TIMEOUT_S,
            values=fill(overlaid(values, args.get("values", {})), args["facts"]),
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({})
