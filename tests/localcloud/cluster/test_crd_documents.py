"""CRDs as texts."""

import gzip
from pathlib import Path

import pytest
import yaml

from localcloud.cluster.crd_documents import CrdDocument, documents_in, each_once, read_folder, with_field
from tools.engine.crds import LATER_FIELDS

SCHEMAS = Path(__file__).parents[3].parent / "shared" / "schemas"


def crd(name: str, note: str = "") -> str:
    group = name.partition(".")[2]
    return (
        f"# {note}\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n"
        f"  labels:\n    name: not-this\n  name: {name}\nspec:\n  group: {group}\n  names:\n    kind: X\n"
    )


def test_a_file_may_hold_several_and_other_kinds_between_them():
    other = "apiVersion: v1\nkind: Service\nmetadata:\n  name: x\n"
    text = "---\n".join(["", crd("a.x.io"), other, crd("b.y.io")])
    found = [*documents_in(text, "x.yaml")]
    assert [(one.name, one.group, one.text) for one in found] == [
        ("a.x.io", "x.io", crd("a.x.io")),
        ("b.y.io", "y.io", crd("b.y.io")),
    ]


def test_a_definition_in_another_form_is_refused_with_its_file():
    with pytest.raises(ValueError, match=r"odd\.yaml"):
        list(
            documents_in("kind: CustomResourceDefinition\nmetadata: {name: a.x.io}\nspec: {group: x.io}\n", "odd.yaml")
        )


def test_a_folder_gives_plain_files_before_packed_ones(tmp_path: Path):
    (tmp_path / "a.yaml.gz").write_bytes(gzip.compress(crd("a.x.io", "packed").encode()))
    (tmp_path / "b.yaml").write_text(crd("a.x.io", "plain"), encoding="utf-8")
    (tmp_path / "c.txt").write_text(crd("c.x.io"), encoding="utf-8")
    both = [*read_folder(tmp_path)]
    assert [one.text.splitlines()[0] for one in both] == ["# plain", "# packed"]
    assert each_once(both) == both[:1]


class Loader(yaml.CSafeLoader):
    """Reads `=` as the text that it is; PyYAML takes it for a tag of YAML 1.1 that it does not know."""


Loader.add_constructor("tag:yaml.org,2002:value", lambda loader, node: node.value)


@pytest.mark.skipif(not SCHEMAS.exists(), reason="the CRDs that projects publish are not at hand")
def test_names_and_groups_of_published_definitions_are_those_that_a_parser_finds():
    small = [one for one in read_folder(SCHEMAS / "crds") if len(one.text) < 100_000]
    assert len(small) > 20
    for one in small:
        parsed = yaml.load(one.text, Loader)
        assert (one.name, one.group) == (parsed["metadata"]["name"], parsed["spec"]["group"])


def fields(document: CrdDocument) -> dict[str, object]:
    (version,) = yaml.safe_load(document.text)["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]


@pytest.mark.parametrize("name", LATER_FIELDS)
def test_a_field_that_came_later_is_one_more_of_spec(name: str):
    if not SCHEMAS.is_dir():
        pytest.skip("published CRDs are not at hand")
    (document,) = (one for one in read_folder(SCHEMAS / "crds-gz") if one.name == name)
    field, schema = LATER_FIELDS[name]
    added = with_field(document, field, schema)
    assert fields(added) == {**fields(document), field: yaml.safe_load(schema)}
    assert with_field(added, field, "{type: string}") == added, "what is there stays"


def test_a_definition_without_fields_gets_none():
    with pytest.raises(ValueError, match="without fields"):
        with_field(CrdDocument("a.x.io", "x.io", crd("a.x.io")), "later", "{type: string}")
