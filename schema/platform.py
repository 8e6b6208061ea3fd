"""Settings of the platform: which charts run in the cluster."""

import difflib
import re
from collections.abc import Iterator
from typing import Annotated, Any, cast

from pydantic import AfterValidator

from components.platform.catalog import CHARTS
from schema.fields import Section, refuse

_SECRET = re.compile(r"(password|passwd|secret|token|api_?key|private_?key|credential)s?$", re.IGNORECASE)


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
        case list():
            for index, item in enumerate(cast(list[object], value)):
                yield from _secrets_in(item, f"{path}[{index}]")
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


class PlatformChart(Section):
    """A chart that runs in the cluster."""

    enabled: bool = True
    """Whether it is installed."""
    values: Annotated[dict[str, Any], AfterValidator(_check_values)] = {}
    """Helm values laid over those of the chart file."""
