"""The fourth step: training on several workers with the chosen parameters.

Data-parallel by averaging (local SGD): each worker goes over its share of the rows, then all go on from the mean of
their weights. It is what scikit-learn's models allow: they hand out weights, not gradients.
"""

from dataclasses import asdict
from typing import Any

import numpy as np
import ray

from ml_pipeline import storage
from ml_pipeline.arrays import digest, pack, to_json, unpack
from ml_pipeline.errors import Missing, PipelineError
from ml_pipeline.graph import graph_of
from ml_pipeline.network import Parameters, Weights
from ml_pipeline.run import Run
from ml_pipeline.worker import Worker, network_of

CHECKPOINT = "checkpoint.npz"


def train(
    run: Run,
    *,
    workers: int,
    cpus_per_worker: float,
    epochs: int,
    checkpoint_epochs: int,
    batch_size: int,
    seed: int,
) -> int:
    """Trains, and leaves the model in the run's folder.

    A checkpoint is left there every few epochs; a try that finds one of the same training goes on from it.

    Args:
        run: the run, after `tune`.
        workers: how many train.
        cpus_per_worker: cores that each takes of the cluster.
        epochs: how often all rows are gone over.
        checkpoint_epochs: epochs between two checkpoints.
        batch_size: rows of a step.
        seed: decides the first weights and the order of the rows.

    Returns:
        The epoch that this try began with, 0 without a checkpoint.

    Raises:
        PipelineError: there are more workers than rows for them.
    """
    prepared, parameters = run.prepared(), Parameters(**run.document("best.json")["parameters"])
    if workers > len(prepared.x_train):
        raise PipelineError(f"{workers} workers cannot share {len(prepared.x_train)} rows.")
    training = {
        "parameters": asdict(parameters),
        "data_version": str(prepared.data_version),
        "workers": workers,
        "batch_size": batch_size,
        "seed": seed,
    }
    fingerprint = digest(to_json(training))
    first, weights = _checkpoint(run, fingerprint)
    whole = network_of(prepared, slice(None), parameters, batch_size=batch_size, seed=seed)
    weights = whole.weights if weights is None else weights
    shares = [np.arange(worker, len(prepared.x_train), workers) for worker in range(workers)]
    sizes = [len(share) for share in shares]
    shared = ray.put(prepared)
    actor: Any = ray.remote(Worker)
    crew = [
        actor.options(num_cpus=cpus_per_worker).remote(
            shared, share, parameters, batch_size=batch_size, seed=seed + worker
        )
        for worker, share in enumerate(shares)
    ]
    for epoch in range(first, epochs):
        start = ray.put(weights)
        weights = _mean(ray.get([worker.epoch.remote(start) for worker in crew]), sizes)
        if (epoch + 1) % checkpoint_epochs == 0 and epoch + 1 < epochs:
            _keep_checkpoint(run, fingerprint, epoch + 1, weights)
    whole.take(weights)
    graph = graph_of(whole, prepared)
    storage.write(run.address("model.onnx"), graph)
    run.keep_document("training.json", training | {"epochs": epochs, "model_sha256": digest(graph)})
    return first


def _mean(all_weights: list[Weights], sizes: list[int]) -> Weights:
    """The mean of the workers' weights, each counted by its rows."""
    return [np.average(np.stack(parts), axis=0, weights=sizes) for parts in zip(*all_weights, strict=True)]


def _keep_checkpoint(run: Run, fingerprint: str, epoch: int, weights: Weights) -> None:
    arrays = {f"weights_{place:03}": part for place, part in enumerate(weights)}
    content = pack(arrays | {"epoch": np.array(epoch), "fingerprint": np.array(fingerprint)})
    storage.write(run.address(CHECKPOINT), content)


def _checkpoint(run: Run, fingerprint: str) -> tuple[int, Weights | None]:
    """The epoch to begin with and the weights to go on from; none where no try of this training got so far."""
    try:
        arrays = unpack(storage.read(run.address(CHECKPOINT)))
    except Missing:
        return 0, None
    if str(arrays["fingerprint"]) != fingerprint:
        return 0, None
    return int(arrays["epoch"]), [arrays[name] for name in sorted(arrays) if name.startswith("weights_")]
