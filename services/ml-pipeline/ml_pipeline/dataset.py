"""A tabular classification data set: rows of numbers, and the class of each.

Two forms, told by the end of the address: `.csv` with a header, whose column `label` has the classes, and `.npz` with
the arrays `x` and `y`.
"""

import csv
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ml_pipeline import storage
from ml_pipeline.arrays import digest, unpack
from ml_pipeline.errors import PipelineError

LABEL = "label"
"""The column of a CSV file that has the classes."""


@dataclass(frozen=True)
class Dataset:
    """A data set as it was read."""

    x: NDArray[np.float64]
    """One row for each example."""
    y: NDArray[np.str_]
    """The class of each row, as text."""
    version: str
    """SHA-256 of the file: another file is another version."""


def read_dataset(uri: str) -> Dataset:
    """Reads a data set.

    Raises:
        PipelineError: there is none, or it is not of the form above.
    """
    content = storage.read(uri)
    if uri.endswith(".csv"):
        x, y = _from_csv(content)
    elif uri.endswith(".npz"):
        x, y = _from_npz(content)
    else:
        raise PipelineError(f"A data set ends with .csv or .npz, and {uri} does not.")
    if x.ndim != 2 or y.ndim != 1 or len(x) != len(y):
        raise PipelineError(
            f"A data set has a table of numbers and one class for each row; here the table is {x.shape}, "
            f"the classes are {y.shape}."
        )
    return Dataset(x, y, digest(content))


def _from_npz(content: bytes) -> tuple[Any, Any]:
    arrays = unpack(content)
    lacking = [name for name in ("x", "y") if name not in arrays]
    if lacking:
        raise PipelineError(f"The data set has no array {' and no array '.join(lacking)}; it has {sorted(arrays)}.")
    x, y = arrays["x"], arrays["y"]
    if x.dtype.kind not in "iufb":
        raise PipelineError(f"The array x has numbers, not {x.dtype}.")
    if y.dtype.kind == "f":
        raise PipelineError("The array y has classes, whole numbers or texts, and not measurements.")
    return x.astype(np.float64), y.astype(np.str_)


def _from_csv(content: bytes) -> tuple[Any, Any]:
    try:
        rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))
    except (UnicodeDecodeError, csv.Error) as error:
        raise PipelineError(f"The data set is not a CSV file in UTF-8: {error}.") from error
    header, body = (rows[0], rows[1:]) if rows else ([], [])
    if header.count(LABEL) != 1 or len(header) < 2:
        raise PipelineError(f"The first line names the columns, one of them {LABEL}; it is {','.join(header)[:80]!r}.")
    place = header.index(LABEL)
    x = np.empty((len(body), len(header) - 1))
    for number, row in enumerate(body):
        line = number + 2
        if len(row) != len(header):
            raise PipelineError(f"Line {line} has {len(row)} columns, and the first line names {len(header)}.")
        try:
            x[number] = [float(value) for value in row[:place] + row[place + 1 :]]
        except ValueError as error:
            raise PipelineError(f"Line {line} has something other than numbers: {error}.") from error
    return x, np.array([row[place] for row in body], dtype=np.str_)
