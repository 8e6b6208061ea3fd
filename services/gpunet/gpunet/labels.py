"""The 1,000 classes of ImageNet-1k: WordNet ids and their first English words.

Two pairs of classes share their first word; one of each pair is told apart: `crane bird`, `maillot tank suit`.
"""

from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Label(NamedTuple):
    """A class."""

    wnid: str
    name: str


@cache
def labels() -> tuple[Label, ...]:
    """Returns all classes in the order of the model's outputs."""
    lines = files("gpunet").joinpath("labels.tsv").read_text("utf-8").splitlines()
    return tuple(Label(*line.split("\t")) for line in lines)
