"""Settings of the platform: which charts run in the cluster."""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, cast

from pydantic import AfterValidator

from components.platform.catalog import CHARTS
from components.release import read_chart
from schema.fields import Section, matches, refuse
from schema.problems import NAMESPACE, Problem

_SECRET = re.compile(r"(password|passwd|secret|token|api_?key|private_?key|credential)s?$", re.IGNORECASE)

_WITH_PASSWORD = re.compile(r"://[^/@\s:]*:[^/@\s]+@")
"""An address with a user and a password before its host."""


def _check_chart(name: str) -> str:
    if name not in CHARTS:
        near = difflib.get_close_matches(name, CHARTS, n=1)
        raise refuse(
            f"a chart is one of {', '.join(CHARTS)}",
            f"write {near[0]}" if near else "add a chart of your own as a file: docs/charts.md shows how",
        )
    return name


def _check_values(values: dict[str, Any]) -> dict[str, Any]:
    for path in _nulls_in(values, ""):
        raise refuse(
            f"{path} is null, which takes away all that the platform says there", "write the value, or remove the line"
        )
    for path in _secrets_in(values, ""):
        raise refuse(
            f"values hold no secrets, and {path} looks like one",
            "name a Kubernetes Secret that External Secrets fills (existingSecret, secretKeyRef, ...)",
        )
    return values


def _secrets_in(value: object, path: str) -> Iterator[str]:
    match value:
        case dict():
            for key, item in cast(dict[str, object], value).items():
                where = f"{path}.{key}" if path else str(key)
                if _SECRET.search(str(key)) and isinstance(item, str) and item:
                    yield where
                yield from _secrets_in(item, where)
            # An environment variable.
            variable = cast(dict[str, object], value)
            if _SECRET.search(str(variable.get("name", ""))) and isinstance(variable.get("value"), str):
                yield f"{path}.value"
        case list():
            for index, item in enumerate(cast(list[object], value)):
                yield from _secrets_in(item, f"{path}[{index}]")
        case str() if _WITH_PASSWORD.search(value):
            yield path
        case _:
            return


def _nulls_in(value: object, path: str) -> Iterator[str]:
    """Where a value is null: to Helm that is the chart's own default, whatever was laid over it before."""
    match value:
        case None:
            yield path
        case dict():
            for key, item in cast(dict[str, object], value).items():
                yield from _nulls_in(item, f"{path}.{key}" if path else str(key))
        case list():
            for index, item in enumerate(cast(list[object], value)):
                yield from _nulls_in(item, f"{path}[{index}]")
        case _:
            return


ChartName = Annotated[str, AfterValidator(_check_chart)]


DataVersion = Annotated[str, matches(r"\d{1,6}(\.\d{1,6})*", "a version of numbers", 'for example "2.6"')]


class PlatformChart(Section):
    """A chart that runs in the cluster."""

    enabled: bool = True
    """Whether it is installed."""
    data_version: DataVersion | None = None
    """The version of what it has stored, for charts whose upgrades migrate that without a way back. Quote it."""
    values: Annotated[dict[str, Any], AfterValidator(_check_values)] = {}
    """Helm values laid over those of the chart file."""


def is_installed(name: str, platform: Mapping[str, PlatformChart]) -> bool:
    """Whether a chart runs in the cluster.

    Args:
        name: the chart's name.
        platform: the stack's charts.
    """
    return name in platform and platform[name].enabled


def missing_chart(chart: str, platform: Mapping[str, PlatformChart], lost: str) -> Iterator[Problem]:
    """What is wrong where a chart does not run that something needs.

    Args:
        chart: the chart's name.
        platform: the stack's charts.
        lost: what there is not without it.
    """
    if not is_installed(chart, platform):
        fix = "remove enabled: false" if chart in platform else f"add the line {chart}: {{}}"
        yield Problem(f"{NAMESPACE}:platform", "", f"without {chart} {lost}", fix)


def data_is_migrated_by_an_explicit_word_only(platform: dict[str, PlatformChart]) -> Iterator[Problem]:
    """A chart that would migrate what an older version of it has stored is not installed unless the stack says so."""
    for name, chart in platform.items():
        ours = read_chart(CHARTS[name]).data_version
        key = f"{NAMESPACE}:platform.{name}.dataVersion"
        if ours is None:
            if chart.data_version is not None:
                yield Problem(key, chart.data_version, f"upgrades of {name} migrate no data", "remove the line")
        elif not chart.enabled or chart.data_version == ours:
            continue
        elif chart.data_version is None:
            yield Problem(
                key,
                "",
                f"{name} keeps data, and a later version may migrate it without a way back: the stack says which "
                "version its data has",
                f'write dataVersion: "{ours}" if there is none yet, or if it was written by this version',
            )
        elif _numbers(chart.data_version)[: len(_numbers(ours))] == _numbers(ours):
            rule = f"the version of its data is {ours}, whatever release wrote it"
            yield Problem(key, chart.data_version, rule, f'write dataVersion: "{ours}"')
        elif _numbers(chart.data_version) > _numbers(ours):
            yield Problem(
                key,
                chart.data_version,
                f"this release of eksai installs {name} {ours}, which cannot read data of a later version",
                f'take a later release of eksai; or write dataVersion: "{ours}" if that is what wrote the data',
            )
        else:
            yield Problem(
                key,
                chart.data_version,
                f"this release of eksai installs {name} {ours}, which migrates the data; there is no way back",
                f'back it up (docs/data.md), then write dataVersion: "{ours}"',
            )


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


def values_keep_their_shape(platform: dict[str, PlatformChart]) -> Iterator[Problem]:
    """What is a mapping in a chart file is one in a stack's values, too: anything else would take all of it away."""
    for name, chart in platform.items():
        for path in misshapen(name, chart):
            rule = "a mapping: anything else takes away all that the platform says there"
            yield Problem(f"{NAMESPACE}:platform.{name}.values.{path}", "", rule, "indent what belongs to it")


def misshapen(name: str, chart: PlatformChart) -> list[str]:
    """Where a stack's values are no mapping, and the chart file's are.

    Args:
        name: the chart's name.
        chart: what the stack says of it.
    """
    return list(_other_shapes(read_chart(CHARTS[name]).values, chart.values, ""))


def _other_shapes(values: Mapping[str, object], said: Mapping[str, object], above: str) -> Iterator[str]:
    for key, item in said.items():
        path, below = f"{above}.{key}" if above else key, values.get(key)
        if isinstance(below, Mapping):
            if isinstance(item, Mapping):
                yield from _other_shapes(cast(Mapping[str, object], below), cast(Mapping[str, object], item), path)
            else:
                yield path


RULES = (data_is_migrated_by_an_explicit_word_only, values_keep_their_shape)
"""Rules on charts; each names the sections that it needs as its parameters."""
