"""What the steps of one run leave for each other, and the split that all of them mean by its names."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ml_pipeline import storage
from ml_pipeline.arrays import pack, to_json, unpack

Rows = NDArray[np.float64]
Classes = NDArray[np.int64]


@dataclass(frozen=True)
class Prepared:
    """A data set in three parts, as it came, and the scale of its training part."""

    x_train: Rows
    y_train: Classes
    x_validation: Rows
    y_validation: Classes
    x_test: Rows
    y_test: Classes
    mean: Rows
    """Mean of each column of the training part."""
    scale: Rows
    """Standard deviation of each column of the training part."""
    classes: NDArray[np.str_]
    """Names of the classes; a class is its place among them."""
    data_version: NDArray[np.str_]
    """SHA-256 of the data set."""

    def scaled(self, rows: Rows) -> Rows:
        """Rows on the training part's scale."""
        return (rows - self.mean) / self.scale


@dataclass(frozen=True)
class Run:
    """The folder of one run."""

    uri: str
    """Its address, without a slash at the end."""

    def address(self, name: str) -> str:
        """The address of a file of the run."""
        return f"{self.uri}/{name}"

    def prepared(self) -> Prepared:
        """What `preprocess` left."""
        return Prepared(**unpack(storage.read(self.address("prepared.npz"))))

    def keep_prepared(self, prepared: Prepared) -> None:
        """Leaves the parts of the data set."""
        storage.write(self.address("prepared.npz"), pack(vars(prepared)))

    def document(self, name: str) -> Any:
        """A JSON document of the run."""
        return json.loads(storage.read(self.address(name)))

    def keep_document(self, name: str, value: Any) -> None:
        """Leaves a JSON document."""
        storage.write(self.address(name), to_json(value))
