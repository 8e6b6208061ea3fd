"""The second step: training, validation and test part, and the scale of the training part."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from ml_pipeline.dataset import read_dataset
from ml_pipeline.errors import PipelineError
from ml_pipeline.run import Prepared, Run


def preprocess(
    dataset: str, run: Run, *, data_version: str, validation_share: float, test_share: float, seed: int
) -> Prepared:
    """Splits a data set and leaves the parts in the run's folder.

    Rows that repeat each other go to the same part, so that no part asks what another has shown. The scale is that of
    the training part: a scale of all rows would tell the training something of the test.

    Args:
        dataset: its address.
        run: the run.
        data_version: the version that was validated.
        validation_share: part of the rows by which parameters are chosen.
        test_share: part of the rows by which the model is judged.
        seed: which split of the many.

    Raises:
        PipelineError: the data set is another one by now, or too small for three parts.
    """
    data = read_dataset(dataset)
    if data.version != data_version:
        raise PipelineError(
            f"{dataset} has changed since it was validated: its version is {data.version}, not {data_version}."
        )
    classes, y = np.unique(data.y, return_inverse=True)
    _, first, group = np.unique(data.x, axis=0, return_index=True, return_inverse=True)
    places: NDArray[Any] = np.arange(len(first))
    sizes = [round(share * len(first)) for share in (test_share, validation_share)]
    try:
        rest, test = train_test_split(places, test_size=sizes[0], stratify=y[first], random_state=seed)
        train, validation = train_test_split(rest, test_size=sizes[1], stratify=y[first[rest]], random_state=seed)
    except ValueError as error:
        raise PipelineError(f"The data set is too small for three parts that have every class: {error}.") from error
    group = group.reshape(-1)
    rows = {
        name: np.flatnonzero(np.isin(group, part))
        for name, part in {"train": train, "validation": validation, "test": test}.items()
    }
    scaler: Any = StandardScaler().fit(data.x[rows["train"]])
    parts: dict[str, Any] = {f"x_{name}": data.x[part] for name, part in rows.items()}
    parts |= {f"y_{name}": y[part] for name, part in rows.items()}
    prepared = Prepared(
        **parts,
        mean=scaler.mean_,
        scale=scaler.scale_,
        classes=classes,
        data_version=np.array(data.version),
    )
    run.keep_prepared(prepared)
    return prepared
