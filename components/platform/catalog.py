"""The charts that a platform can have, and the order in which they are installed."""

from collections.abc import Container, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from components.release import ChartFile, read_chart

CHARTS: Mapping[str, Path] = {path.stem: path for path in sorted((Path(__file__).parent / "charts").glob("*.yaml"))}
"""Every chart file of this layer by its name, which is also the release's."""


def missing_needs(names: Iterable[str]) -> dict[str, list[str]]:
    """For each chart of a choice that needs others: those that the choice lacks."""
    chosen = list(names)
    lacking = {name: [need for need in read_chart(CHARTS[name]).needs if need not in chosen] for name in chosen}
    return {name: needs for name, needs in lacking.items() if needs}


def in_order(names: Iterable[str]) -> list[str]:
    """The charts of a choice, each after those that it needs.

    Args:
        names: names of chart files, with all that they need among them.

    Raises:
        ValueError: charts need each other.
    """
    chosen = sorted(names)
    return ordered({name: read_chart(CHARTS[name]) for name in chosen})


def comes_after(chart: ChartFile, chosen: Container[str]) -> list[str]:
    """The charts that a chart comes after: those that it needs, and of the others those that a stack has.

    Args:
        chart: the chart file.
        chosen: names of the charts that the stack has.
    """
    return [*chart.needs, *(name for name in chart.after if name in chosen)]


def ordered(charts: Mapping[str, ChartFile]) -> list[str]:
    """Like `in_order`, for charts that are given.

    Raises:
        ValueError: charts need each other.
    """
    try:
        return list(
            TopologicalSorter({name: comes_after(chart, charts) for name, chart in charts.items()}).static_order()
        )
    except CycleError as error:
        raise ValueError(
            f"these charts need each other, so none can come first: {' -> '.join(error.args[1])}"
        ) from error
