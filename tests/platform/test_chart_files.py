"""Every chart file of every layer is held to the same rules; and adding one takes a file and a line."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.platform.catalog import CHARTS, ordered
from components.platform.namespaces import GIVEN, LEVELS, namespaces_of
from components.platform.pool_values import Surroundings, pool_values, value_at
from components.release import ChartFile, ChartSource, overlaid, read_chart
from localcloud.api_groups import CRDS_ONLY
from schema.platform import PlatformChart
from tests.platform.pools import ROOT, STACKS, not_tolerated, pool, stack
from tests.platform.value_schemas import optional

FILES = sorted((ROOT / "components").glob("*/charts/*.yaml"))
SCHEMAS = ROOT.parent / "shared" / "schemas" / "helm-values"
SUB_CHARTS = {"gpu-operator": ("node-feature-discovery", "0.19.0")}
"""Charts without a schema of their own that bring one that has: its key in their values, which is its name, and its
version."""

each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


REGISTRY = "registry.example.com:5000/mirror"


def told(path: Path, name: str = "prod", registry: str | None = None) -> dict[str, Any]:
    """What Helm is told of a chart in a stack, facts by their names."""
    chart, settings = read_chart(path), stack(name)
    around = Surroundings(settings.pools(), settings.cluster.version, "us-west-2", registry)
    values = overlaid(chart.values, ChartSource(image_registry=registry).images(chart))
    return overlaid(values, pool_values(path.stem, chart, around) if path in CHARTS.values() else {})


def texts(value: Any) -> list[str]:
    """Every text in a value, however deep."""
    if isinstance(value, dict):
        value = list(value.values())
    return [text for item in value for text in texts(item)] if isinstance(value, list) else [str(value)]


def neighbours(path: Path) -> dict[str, ChartFile]:
    """All chart files of the same layer by name."""
    return {other.stem: read_chart(other) for other in FILES if other.parent == path.parent}


def test_there_are_files_to_hold_to_the_rules():
    layers = {path.parent.parent.name for path in FILES}
    assert {"compute", "platform"} <= layers
    assert set(CHARTS.values()) == {path for path in FILES if path.parent.parent.name == "platform"}


@each_file
def test_it_is_valid_has_an_exact_version_and_the_name_of_its_chart(path: Path):
    assert read_chart(path).chart == path.stem


@each_file
def test_nothing_in_it_is_whatever_is_latest(path: Path):
    assert "latest" not in path.read_text(encoding="utf-8")


@each_file
def test_nothing_in_it_looks_like_a_secret(path: Path):
    PlatformChart.model_validate({"values": read_chart(path).values})


@each_file
def test_its_namespace_exists_beforehand(path: Path):
    assert set(namespaces_of([read_chart(path)])) <= {*GIVEN, *LEVELS}


def test_every_namespace_that_is_made_is_some_charts():
    assert set(LEVELS) == set(namespaces_of(map(read_chart, FILES))) - GIVEN


@each_file
def test_what_it_runs_asks_for_cpu_and_memory_and_stops_at_some_memory(path: Path):
    chart = read_chart(path)
    assert chart.requests or chart.chart in CRDS_ONLY, "only a chart of CRDs runs nothing"
    for place in chart.requests:
        resources = value_at(chart.values, place)
        assert resources is not None, f"{place} is not in the values"
        assert set(resources["requests"]) == {"cpu", "memory"}, place
        assert "memory" in resources["limits"], place


@pytest.mark.parametrize("name", STACKS)
@each_file
def test_what_runs_on_accelerator_nodes_runs_on_those_of_both_vendors_and_with_efa(path: Path, name: str):
    values = told(path, name)
    taints = [taint for some in stack(name).pools() for taint in some.taints]
    both = [taint for vendor in ("nvidia", "neuron") for taint in pool(vendor=vendor).taints[:1]]
    for place in read_chart(path).tolerations:
        assert not_tolerated([*both, *taints], value_at(values, place)) == [], place


@each_file
def test_what_runs_says_where_its_images_are_named(path: Path):
    chart = read_chart(path)
    assert bool(chart.images) != (chart.chart in CRDS_ONLY), (
        f"{path.name}: `images` says where in the values the chart's images are named (docs/charts.md); a chart that "
        "only brings CRDs has none and is in CRDS_ONLY (localcloud/api_groups.py)"
    )


@each_file
def test_with_a_registry_none_of_its_images_comes_from_another_host(path: Path):
    chart, values = read_chart(path), told(path, registry=REGISTRY)
    for place, repository in chart.images.items():
        host, slash, rest = repository.partition("/")
        assert value_at(values, place) == f"{REGISTRY}{slash}{rest}", place
        assert not [text for text in texts(values) if text.startswith(host)], f"something still comes from {host}"


@each_file
def test_without_a_registry_nothing_in_its_values_is_about_one(path: Path):
    given = read_chart(path).values
    assert not [place for place in read_chart(path).images if value_at(given, place)], "the chart's own say is enough"


def test_no_two_images_have_one_place_in_a_registry():
    hosts: dict[str, set[str]] = {}
    for path in FILES:
        for repository in read_chart(path).images.values():
            host, _, rest = repository.partition("/")
            # A place that only says the host is one of every image.
            if rest:
                hosts.setdefault(rest, set()).add(host)
    assert {rest: found for rest, found in hosts.items() if len(found) > 1} == {}


def test_the_efa_plug_in_comes_from_the_regions_registry_unless_all_images_come_from_one():
    path = CHARTS["aws-efa-k8s-device-plugin"]
    regional = "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin"
    assert told(path)["image"]["repository"] == regional
    assert told(path, registry=REGISTRY)["image"]["repository"] == f"{REGISTRY}/eks/aws-efa-k8s-device-plugin"


@each_file
def test_its_images_run_where_it_runs(path: Path):
    """Controllers run on system nodes of either architecture; accelerators are in amd64 nodes."""
    chart = read_chart(path)
    only_on_accelerators = len(chart.tolerations) == len(chart.requests) == 1
    assert set(chart.architectures) >= ({"amd64"} if only_on_accelerators else {"amd64", "arm64"})


@each_file
def test_what_its_pods_may_do_in_aws_is_written_down(path: Path):
    identity = read_chart(path).identity
    for policy in identity.policies if identity else ():
        document = json.loads((path.parent.parent / "policies" / f"{policy}.json").read_text(encoding="utf-8"))
        assert document["Statement"]


@each_file
def test_what_it_needs_is_there_and_does_not_need_it(path: Path):
    charts = neighbours(path)
    assert set(read_chart(path).needs) <= set(charts)
    order = ordered(charts)
    assert all(order.index(need) < order.index(path.stem) for need in read_chart(path).needs)


def schema_of(path: Path) -> tuple[str, bytes]:
    """The schema of a chart's values, and the key of the values that it is about (none: all)."""
    chart = read_chart(path)
    key, version = SUB_CHARTS.get(chart.chart, ("", chart.version.removeprefix("v")))
    name = f"{key or chart.chart}-{version}.values.schema.json"
    if not SCHEMAS.is_dir():
        pytest.skip("the charts' schemas are not at hand: they are published with the charts")
    for file in (SCHEMAS / name, SCHEMAS / f"{name}.gz"):
        if file.exists():
            return key, gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    pytest.skip(f"{chart.chart} {chart.version} has no schema of its values at hand")


def refusal(folder: Path, schema: bytes, values: dict[str, Any]) -> str | None:
    """What Helm says of values against a schema, None for nothing."""
    helm = pytest.importorskip("helm_python", reason="Helm is not at hand: pip install helm-python-sdk")
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("{apiVersion: v2, name: judge, version: 1.0.0}", encoding="utf-8")
    (folder / "values.schema.json").write_bytes(optional(schema))
    with helm.Chart.load(folder) as chart:
        try:
            chart.render(values, name="judge")
        except helm.HelmValuesError as error:
            return str(error)
    return None


@pytest.mark.parametrize("registry", [None, REGISTRY])
@each_file
def test_the_chart_accepts_its_values(path: Path, registry: str | None, tmp_path: Path):
    key, schema = schema_of(path)
    values = told(path, registry=registry)
    assert refusal(tmp_path / "judge", schema, values[key] if key else values) is None


def test_values_that_a_chart_does_not_know_are_refused(tmp_path: Path):
    _, schema = schema_of(CHARTS["cert-manager"])
    assert "webhok" in (refusal(tmp_path / "judge", schema, {"webhok": {}}) or "")


ADDED = """\
# GPU metrics for Prometheus.
repository: https://nvidia.github.io/dcgm-exporter/helm-charts
chart: dcgm-exporter
version: 4.8.2
namespace: gpu-operator
crds: none
architectures: [amd64, arm64]
requests: [resources]
tolerations: [tolerations]
images: {image.repository: nvcr.io/nvidia/k8s/dcgm-exporter}
values:
  nodeSelector: {nvidia.com/gpu.present: "true"}
  serviceMonitor: {enabled: false}
  resources:
    requests: {cpu: 50m, memory: 128Mi}
    limits: {memory: 512Mi}
"""


def test_a_chart_is_added_with_one_file_and_one_line(tmp_path: Path):
    """In a copy of the checkout; `docs/charts.md` shows the same file."""
    ignored = shutil.ignore_patterns(".*", "tests", "docs", "bench", "services", "__pycache__", "engine")
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT, checkout, ignore=ignored, symlinks=True)
    (checkout / "components/platform/charts/dcgm-exporter.yaml").write_text(ADDED, encoding="utf-8")
    file = checkout / "Pulumi.dev.yaml"
    lines, section = file.read_text(encoding="utf-8"), "  eksai:platform:\n"
    file.write_text(lines.replace(section, f"{section}    dcgm-exporter: {{}}\n"), encoding="utf-8")

    program = "import sys; from automation.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "plan", "dev", "--out", str(tmp_path / "plan")]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(checkout)}
    ran = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr

    charts = json.loads((tmp_path / "plan" / "charts.json").read_text(encoding="utf-8"))
    (added,) = (chart for chart in charts if chart["release"] == "dcgm-exporter")
    assert (added["version"], added["namespace"]) == ("4.8.2", "gpu-operator")
    values = yaml.safe_load((tmp_path / "plan" / added["values"]).read_text(encoding="utf-8"))
    (gpus,) = (one for one in stack("dev").pools() if one.vendor)
    assert not_tolerated(gpus.taints, values["tolerations"]) == [], "its tolerations follow from the pools"


def test_the_documents_show_the_file_that_was_added():
    assert ADDED in (ROOT / "docs" / "charts.md").read_text(encoding="utf-8")
