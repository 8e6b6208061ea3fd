"""Published charts rendered by Helm, where they are at hand: what a chart makes of the values that it is told."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.release import ChartFile

FOLDER = "EKSAI_CHARTS"
"""Environment variable with a folder of charts, each as `helm pull` names it: `<chart>-<version>.tgz`."""

Objects = dict[tuple[str, str], dict[str, Any]]
"""Objects by kind and name."""


def rendered(chart: ChartFile, values: Mapping[str, Any], *, is_upgrade: bool = False) -> Objects:
    """What a chart makes of values, hooks too; the test is skipped, with the reason, where the chart is not at hand.

    Args:
        chart: the chart file; the release is named like its chart.
        values: all that Helm is told.
        is_upgrade: whether there is a release already; what some charts leave out then, or say in another way.
    """
    helm = pytest.importorskip("helm_python", reason="Helm is not at hand: pip install helm-python-sdk")
    archive = Path(os.environ.get(FOLDER, "/nowhere")) / f"{chart.chart}-{chart.version}.tgz"
    if not archive.is_file():
        pytest.skip(f"{archive.name} is not at hand: put it into a folder and name that in {FOLDER}")
    with helm.Chart.load(archive) as loaded:
        texts = loaded.render(
            dict(values),
            name=chart.chart,
            namespace=chart.namespace,
            is_install=not is_upgrade,
            is_upgrade=is_upgrade,
        )
    # What a chart says to people is no object.
    manifests = [text for name, text in texts.items() if not name.endswith("NOTES.txt")]
    objects = [item for text in manifests for item in yaml.safe_load_all(text) if item]
    return {(item["kind"], item["metadata"]["name"]): item for item in objects}
