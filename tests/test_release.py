"""Chart files and the releases made from them."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
import yaml

from automation.project import Project
from components.compute import layer as compute
from components.platform.pool_values import value_at
from components.release import FACTS, ChartSource, MirrorIncomplete, Release, ReleaseArgs, facts_in, read_chart
from localcloud.world import World
from tests.world import run

ROOT = Path(__file__).parent.parent
CHARTS = sorted((ROOT / "components").rglob("charts/*.yaml"))
GOOD = {
    "repository": "oci://public.ecr.aws/karpenter",
    "chart": "karpenter",
    "version": "1.14.1",
    "namespace": "kube-system",
    "crds": "own-chart",
    "architectures": ["amd64"],
    "values": {"settings": {"clusterName": "${cluster_name}"}},
}


RELEASE = "kubernetes:helm.sh/v3:Release"
PUBLISHED = {"oci": "oci://public.ecr.aws/karpenter", "http": "https://charts.example.com/stable"}


def write(folder: Path, **changes: object) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "karpenter.yaml"
    path.write_text(yaml.safe_dump(GOOD | changes), encoding="utf-8")
    return path


def test_there_are_chart_files_to_hold_to_the_rules():
    assert {path.stem for path in CHARTS} >= {"karpenter", "karpenter-crd"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"version": "1.x"}, "version"),
        ({"version": "latest"}, "version"),
        ({"repository": "http://charts.example.com"}, "repository"),
        ({"crds": "sometimes"}, "crds"),
        ({"architectures": ["riscv64"]}, "architectures"),
        ({"vales": {}}, "vales"),
        ({"images": {"image.repository": "karpenter/controller"}}, "images"),
        ({"images": {"image.repository": "quay.io/karpenter:v1"}}, "images"),
        ({"values": {"a": ["${cluster_nmae}"]}}, "no such fact: cluster_nmae; known: "),
    ],
)
def test_a_chart_file_that_breaks_the_form_is_refused_when_it_is_read(tmp_path: Path, changes, reason):
    with pytest.raises(ValueError, match=reason):
        read_chart(write(tmp_path, **changes))


def test_facts_are_found_however_deep_they_lie():
    assert facts_in({"a": [{"b": "x-${cluster_name}-${region}"}], "c": 3}) == {"cluster_name", "region"}


def test_every_fact_is_used_by_a_chart():
    used = set().union(*(facts_in(read_chart(path).values) for path in CHARTS))
    assert used == FACTS, "a fact that nobody uses only looks like a promise"


def installed(path: Path, mirror: str | None) -> dict[str, Any]:
    """What the provider is told of a release."""
    args = ReleaseArgs(chart_file=str(path), charts=ChartSource(mirror), facts={"cluster_name": "eksai-dev"})
    inputs = run(lambda: Release("karpenter", args)).only(RELEASE).inputs
    return {key: inputs.get(key) for key in ("chart", "version", "repositoryOpts")}


def test_a_chart_comes_from_where_it_is_published(tmp_path: Path):
    oci = installed(write(tmp_path), None)
    assert oci == {"chart": "oci://public.ecr.aws/karpenter/karpenter", "version": "1.14.1", "repositoryOpts": None}
    http = installed(write(tmp_path / "http", repository=PUBLISHED["http"]), None)
    assert http == {"chart": "karpenter", "version": "1.14.1", "repositoryOpts": {"repo": PUBLISHED["http"]}}


@pytest.mark.parametrize("published", PUBLISHED.values(), ids=PUBLISHED)
@pytest.mark.parametrize(
    ("mirror", "chart"),
    [
        ("oci://registry.example.com:5000/charts", "oci://registry.example.com:5000/charts/karpenter"),
        ("/srv/charts", "/srv/charts/karpenter-1.14.1.tgz"),
    ],
)
def test_a_mirror_stands_for_every_place_of_publication(tmp_path: Path, published: str, mirror: str, chart: str):
    told = installed(write(tmp_path, repository=published), mirror)
    assert told == {"chart": chart, "version": "1.14.1", "repositoryOpts": None}


IMAGES = {"imageRegistry": "quay.io", "controller.image.repository": "public.ecr.aws/karpenter/controller"}


def values_of(path: Path, registry: str | None, **own: object) -> dict[str, Any]:
    """What Helm is told as the values of a release."""
    charts = ChartSource(image_registry=registry)
    args = ReleaseArgs(chart_file=str(path), charts=charts, facts={"cluster_name": "eksai-dev"}, values=own)
    return run(lambda: Release("karpenter", args)).only(RELEASE).inputs["values"]


def test_a_registry_stands_for_the_host_of_every_image(tmp_path: Path):
    path = write(tmp_path, images=IMAGES, values={"controller": {"image": {"repository": "quay.io/x"}, "size": 2}})
    assert values_of(path, "registry.example.com:5000/mirror") == {
        "imageRegistry": "registry.example.com:5000/mirror",
        "controller": {
            "image": {"repository": "registry.example.com:5000/mirror/karpenter/controller"},
            "size": 2,
        },
    }


def test_an_image_that_the_stack_names_itself_comes_from_there(tmp_path: Path):
    own = {"image": {"repository": "own.example.com/controller"}}
    values = values_of(write(tmp_path, images=IMAGES), "registry.example.com", controller=own)
    assert (values["controller"], values["imageRegistry"]) == (own, "registry.example.com")


def test_without_a_registry_a_release_says_nothing_of_its_images(tmp_path: Path):
    assert values_of(write(tmp_path, images=IMAGES), None) == {"settings": {"clusterName": "eksai-dev"}}


@pytest.mark.parametrize("stack", ["dev", "prod"])
def test_the_registry_of_a_stack_reaches_every_release(stack: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("EKSAI_LOCAL", "1")
    charts = {"eksai:charts": json.dumps({"imageRegistry": "registry.example.com/mirror"})}
    world = World("eksai", stack, {**Project(ROOT).config(stack), **charts})
    world.run(lambda: runpy.run_path(str(ROOT / "__main__.py"), run_name="__main__"))
    releases = {resource.name: resource.inputs["values"] for resource in world.resources if resource.type == RELEASE}
    by_chart = {path.stem: read_chart(path) for path in CHARTS}
    named = {
        f"{name}: {place}": value_at(values, place)
        for name, values in releases.items()
        for place in by_chart[name].images
    }
    assert {place: value for place, value in named.items() if not str(value).startswith("registry.example.com/")} == {}


def test_a_folder_that_lacks_charts_is_named_with_every_one_of_them(tmp_path: Path):
    (tmp_path / "karpenter-1.14.1.tgz").touch()
    with pytest.raises(MirrorIncomplete) as caught:
        ChartSource(str(tmp_path)).check([write(tmp_path), write(tmp_path / "other", chart="a"), *CHARTS])
    assert f"{tmp_path} lacks a-1.14.1.tgz, " in str(caught.value)
    assert ", karpenter-1.14.1.tgz" not in str(caught.value)


def test_a_folder_that_is_not_there_is_told_as_such(tmp_path: Path):
    with pytest.raises(MirrorIncomplete, match=r"nowhere is no folder .* should hold karpenter-1\.14\.1\.tgz\. Put"):
        ChartSource(str(tmp_path / "nowhere")).check([write(tmp_path)])


def test_a_folder_with_all_charts_passes_and_so_does_any_registry(tmp_path: Path):
    (tmp_path / "karpenter-1.14.1.tgz").touch()
    for mirror in (str(tmp_path), "oci://registry.example.com/charts", None):
        ChartSource(mirror).check([write(tmp_path)])


def test_every_chart_file_of_a_layer_is_looked_for_in_the_mirror():
    there = {path for path in CHARTS if path.is_relative_to(ROOT / "components" / "compute")}
    assert set(compute.CHART_FILES) == there


def test_nothing_is_registered_when_the_mirror_lacks_a_chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("EKSAI_LOCAL", "1")
    charts = {"eksai:charts": json.dumps({"mirror": str(tmp_path)})}
    world = World("eksai", "dev", {**Project(ROOT).config("dev"), **charts})
    with pytest.raises(MirrorIncomplete, match=r"lacks karpenter-crd-"):
        world.run(lambda: runpy.run_path(str(ROOT / "__main__.py"), run_name="__main__"))
    assert [resource.type for resource in world.resources] == ["pulumi:pulumi:Stack"]
