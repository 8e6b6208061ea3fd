"""The layers know nothing of each other, and only settings.py reads config."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = ("base", "compute", "platform", "workloads")
COMPONENTS = sorted((ROOT / "components").rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide which layer is meant"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def calls(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            yield ast.unparse(node)


@pytest.mark.parametrize("path", COMPONENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_layer_imports_no_other_layer(path: Path):
    own = path.relative_to(ROOT / "components").parts[0]
    foreign = [name for name in imports(path) for layer in LAYERS if name.startswith(f"components.{layer}")]
    crossed = [name for name in foreign if not name.startswith(f"components.{own}")]
    assert not crossed, "only __main__.py joins two layers"


@pytest.mark.parametrize("path", COMPONENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_component_reads_neither_config_nor_environment_nor_stack(path: Path):
    forbidden = ("pulumi.Config", "pulumi.get_stack", "pulumi.get_project", "os.environ", "os.getenv")
    used = [*calls(path), *imports(path)]
    assert not [name for name in used if name.startswith(forbidden)], "what it needs comes in its args"


@pytest.mark.parametrize("path", COMPONENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_components_import_no_other_room(path: Path):
    rooms = ("settings", "schema", "policies", "automation", "localcloud", "tools", "tests")
    assert not [name for name in imports(path) if name.split(".")[0] in rooms]


@pytest.mark.parametrize("path", COMPONENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_component_module_keeps_its_annotations_real(path: Path):
    assert "__future__.annotations" not in imports(path), "the component analyzer reads annotations as types"


def test_policies_import_nothing_else_of_ours():
    rooms = {"settings", "schema", "components", "automation", "localcloud", "tools", "tests"}
    for path in (ROOT / "policies").rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        modules = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        modules += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0]
        assert not rooms & {module.split(".")[0] for module in modules}, f"{path} must work on any program"


def test_only_settings_reads_stack_config():
    readers = [
        path
        for room in ("components", "schema")
        for path in (ROOT / room).rglob("*.py")
        if any(name.startswith("pulumi.runtime.config") for name in imports(path))
    ]
    assert not readers


def test_main_only_wires():
    lines = (ROOT / "__main__.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 80


TEXTS = sorted(p for p in (ROOT / "components").rglob("*") if p.suffix in (".py", ".json", ".yaml"))


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_arn_names_the_partition_literally(path: Path):
    assert "arn:aws:" not in path.read_text(encoding="utf-8"), "GovCloud and China have partitions of their own"
