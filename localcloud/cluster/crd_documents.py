"""CustomResourceDefinitions as the texts that their projects publish."""

import gzip
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

_BETWEEN_DOCUMENTS = re.compile(r"^---.*\n", re.MULTILINE)
_KIND = re.compile(r"^kind: CustomResourceDefinition\s*$", re.MULTILINE)
# At the first level of `metadata` and of `spec`: generators of CRDs indent by two.
_NAME = re.compile(r"^metadata:\n(?:  .*\n)*?  name: (\S+)$", re.MULTILINE)
_GROUP = re.compile(r"^  group: (\S+)$", re.MULTILINE)

_SPEC_FIELDS = re.compile(r"^          spec:\n(?:            .*\n)*?            properties:\n", re.MULTILINE)
_FIELD_INDENT = " " * 14


@dataclass(frozen=True)
class CrdDocument:
    """One CustomResourceDefinition.

    Attributes:
        name: its name, `nodepools.karpenter.sh`.
        group: the API group that it belongs to.
        text: the document as it was published.
    """

    name: str
    group: str
    text: str


def documents_in(text: str, origin: str) -> Iterator[CrdDocument]:
    """The CustomResourceDefinitions in a YAML text; whatever else it holds is left out.

    They are not parsed: some have values that PyYAML refuses, and some have megabytes.

    Args:
        text: one or several YAML documents.
        origin: what the text comes from, for errors.

    Raises:
        ValueError: a definition's name or group is not where generators of CRDs put them.
    """
    for document in _BETWEEN_DOCUMENTS.split(text):
        if not _KIND.search(document):
            continue
        name, group = _NAME.search(document), _GROUP.search(document)
        if name is None or group is None:
            raise ValueError(
                f"{origin}: a CustomResourceDefinition without metadata.name or spec.group, or not in block style"
            )
        yield CrdDocument(name[1], group[1], document)


def read_folder(folder: Path) -> Iterator[CrdDocument]:
    """The CustomResourceDefinitions of a folder's `*.yaml` and `*.yaml.gz`, by file name, the plain ones first.

    Raises:
        ValueError: as `documents_in`.
    """
    for path in sorted(folder.glob("*.yaml")):
        yield from documents_in(path.read_text(encoding="utf-8"), str(path))
    for path in sorted(folder.glob("*.yaml.gz")):
        yield from documents_in(gzip.decompress(path.read_bytes()).decode("utf-8"), str(path))


def with_field(document: CrdDocument, field: str, schema: str) -> CrdDocument:
    """A definition with one more field of `spec`, unless it has that one already.

    Args:
        document: the definition.
        field: the field's name.
        schema: its schema, as YAML on one line.

    Raises:
        ValueError: the definition's `spec` is not where generators of CRDs put it.
    """
    if f"\n{_FIELD_INDENT}{field}:" in document.text:
        return document
    text, places = _SPEC_FIELDS.subn(rf"\g<0>{_FIELD_INDENT}{field}: {schema}\n", document.text)
    if not places:
        raise ValueError(f"{document.name}: a CustomResourceDefinition without fields of spec")
    return replace(document, text=text)


def each_once(documents: Iterable[CrdDocument]) -> list[CrdDocument]:
    """The first document of each name."""
    first: dict[str, CrdDocument] = {}
    for document in documents:
        first.setdefault(document.name, document)
    return [*first.values()]
