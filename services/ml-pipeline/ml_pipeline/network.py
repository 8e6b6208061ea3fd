"""The model: scikit-learn's multi-layer perceptron, trained epoch by epoch."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier

from ml_pipeline.run import Classes, Rows

Weights = list[np.ndarray[Any, np.dtype[np.float64]]]


@dataclass(frozen=True)
class Parameters:
    """What is chosen before training."""

    hidden_units: int
    """Units of the one hidden layer."""
    learning_rate: float
    """Step of Adam at the start."""
    penalty: float
    """Weight of the L2 penalty."""


class Network:
    """A network in training, on rows that are scaled.

    Attributes:
        model: scikit-learn's.
    """

    def __init__(self, parameters: Parameters, *, classes: int, x: Rows, y: Classes, batch_size: int, seed: int):
        self._x, self._y = x, y
        self.model: Any = MLPClassifier(
            hidden_layer_sizes=(parameters.hidden_units,),
            learning_rate_init=parameters.learning_rate,
            alpha=parameters.penalty,
            random_state=seed,
        )
        # The first step makes the weights; one row is enough.
        self.model.set_params(batch_size=1)
        self.model.partial_fit(x[:1], y[:1], classes=np.arange(classes))
        self.model.set_params(batch_size=min(batch_size, len(x)))

    def epoch(self) -> None:
        """Goes over all rows once."""
        self.model.partial_fit(self._x, self._y)

    def accuracy(self, x: Rows, y: Classes) -> float:
        """The part of some rows whose class it tells."""
        return float(self.model.score(x, y))

    @property
    def weights(self) -> Weights:
        """Copies of its weights, layer by layer, and then of its biases."""
        return [part.copy() for part in (*self.model.coefs_, *self.model.intercepts_)]

    def take(self, weights: Weights) -> None:
        """Goes on from other weights; the moments of Adam stay its own."""
        for mine, other in zip((*self.model.coefs_, *self.model.intercepts_), weights, strict=True):
            # In place: the optimizer holds these very arrays.
            mine[...] = other
