"""What trains on one share of the rows. A process of Ray imports this and nothing of ONNX."""

from typing import Any

from ml_pipeline.network import Network, Parameters, Weights
from ml_pipeline.run import Prepared


def network_of(prepared: Prepared, share: Any, parameters: Parameters, *, batch_size: int, seed: int) -> Network:
    """A network for a share of the training part.

    Args:
        prepared: the data set.
        share: places of the rows.
        parameters: what is chosen before training.
        batch_size: rows of a step.
        seed: decides the first weights and the order of the rows.
    """
    return Network(
        parameters,
        classes=len(prepared.classes),
        x=prepared.scaled(prepared.x_train[share]),
        y=prepared.y_train[share],
        batch_size=batch_size,
        seed=seed,
    )


class Worker:
    """Trains on a share of the rows."""

    def __init__(self, prepared: Prepared, share: Any, parameters: Parameters, *, batch_size: int, seed: int) -> None:
        self._network = network_of(prepared, share, parameters, batch_size=batch_size, seed=seed)

    def epoch(self, weights: Weights) -> Weights:
        """Goes over the share once, from given weights on."""
        self._network.take(weights)
        self._network.epoch()
        return self._network.weights
