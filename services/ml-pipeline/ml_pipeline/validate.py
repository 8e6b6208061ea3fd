"""The first step: whether the data set, and what the workflow was started with, are fit for the others."""

import re
from collections.abc import Mapping

import numpy as np

from ml_pipeline.dataset import Dataset, read_dataset
from ml_pipeline.errors import PipelineError

# Later steps put these into a manifest and a command line: what gets past here can break out of neither.
_URI = re.compile(r"(s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])?(/[A-Za-z0-9][A-Za-z0-9_.=-]*)+", re.ASCII)
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
# Without a leading zero, which would make it an octal number in a manifest.
_NUMBER = re.compile(r"0|[1-9]\d{0,8}", re.ASCII)
_RATE = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)


def validate(
    dataset: str,
    *,
    model_name: str,
    numbers: Mapping[str, str],
    rates: Mapping[str, str],
    minimum_rows: int,
    minimum_class_share: float,
    maximum_repeated_share: float,
) -> str:
    """Checks a data set.

    Args:
        dataset: its address.
        model_name: what the model will be called.
        numbers: the workflow's parameters that are whole numbers, by name, as they were given.
        rates: those that may have a fraction.
        minimum_rows: fewest rows.
        minimum_class_share: smallest part of the rows that each class has, of what an even share would be.
        maximum_repeated_share: largest part of the rows that may repeat another one.

    Returns:
        The data set's version.

    Raises:
        PipelineError: what is wrong, in a sentence.
    """
    _check_parameters(dataset, model_name, numbers, rates)
    data = read_dataset(dataset)
    _check_rows(data, minimum_rows)
    _check_classes(data, minimum_class_share)
    _check_repetition(data, maximum_repeated_share)
    return data.version


def _check_parameters(dataset: str, model_name: str, numbers: Mapping[str, str], rates: Mapping[str, str]) -> None:
    if not _URI.fullmatch(dataset):
        raise PipelineError(f"The address of a data set is s3://bucket/key or a path, of plain letters: {dataset!r}.")
    if not _NAME.fullmatch(model_name):
        raise PipelineError(f"A model's name has lower-case letters, digits and hyphens, 63 at most: {model_name!r}.")
    for name, text in numbers.items():
        if not _NUMBER.fullmatch(text):
            raise PipelineError(f"The parameter {name} is a whole number of 9 digits at most, not {text!r}.")
    for name, text in rates.items():
        if not _RATE.fullmatch(text):
            raise PipelineError(f"The parameter {name} is a plain decimal number, not {text!r}.")


def _check_rows(data: Dataset, minimum_rows: int) -> None:
    if len(data.x) < minimum_rows:
        raise PipelineError(f"The data set has {len(data.x)} rows, and at least {minimum_rows} are wanted.")
    if not data.x.shape[1]:
        raise PipelineError("The data set has no column but the classes.")
    broken = np.argwhere(~np.isfinite(data.x))
    if len(broken):
        row, column = broken[0]
        raise PipelineError(
            f"{len(broken)} values are not finite numbers, the first in column {column + 1} of row {row + 1}."
        )


def _check_classes(data: Dataset, minimum_class_share: float) -> None:
    classes, counts = np.unique(data.y, return_counts=True)
    if len(classes) < 2:
        raise PipelineError(f"A classifier needs two classes or more, and the data set has {len(classes)}.")
    least = minimum_class_share * len(data.y) / len(classes)
    rarest = int(np.argmin(counts))
    if counts[rarest] < least:
        raise PipelineError(
            f"The class {classes[rarest]!s} has {counts[rarest]} of {len(data.y)} rows, and every class should have at "
            f"least {least:.0f}: collect more of it, or lower the wanted share."
        )


def _check_repetition(data: Dataset, maximum_repeated_share: float) -> None:
    distinct = len(np.unique(data.x, axis=0))
    share = 1 - distinct / len(data.x)
    if share > maximum_repeated_share:
        raise PipelineError(
            f"{len(data.x) - distinct} of {len(data.x)} rows repeat another one, {share:.0%}, and at most "
            f"{maximum_repeated_share:.0%} should: the test would ask what training has seen."
        )
