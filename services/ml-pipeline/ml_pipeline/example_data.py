"""Small data sets to try the pipeline on, as scikit-learn brings them; nothing is downloaded."""

import csv
import io
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris

from ml_pipeline import storage
from ml_pipeline.arrays import pack
from ml_pipeline.dataset import LABEL

SOURCES: Mapping[str, Callable[[], Any]] = {
    "breast-cancer": load_breast_cancer,
    "digits": load_digits,
    "iris": load_iris,
}


def write_example(name: str, uri: str, *, shuffled: bool, seed: int) -> None:
    """Writes a data set as `.npz` or `.csv`, as the address ends.

    Args:
        name: one of `SOURCES`.
        uri: where to.
        shuffled: whether the classes are dealt out anew, so that nothing can be learned.
        seed: how they are dealt out.
    """
    source = SOURCES[name]()
    x, y = source.data, source.target
    if shuffled:
        y = np.random.default_rng(seed).permutation(y)
    storage.write(uri, _csv(x, y) if uri.endswith(".csv") else pack({"x": x, "y": y}))


def _csv(x: Any, y: Any) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(f"feature_{place}" for place in range(x.shape[1])), LABEL])
    writer.writerows([*map(repr, row), label] for row, label in zip(x.tolist(), y.tolist(), strict=True))
    return text.getvalue().encode()
