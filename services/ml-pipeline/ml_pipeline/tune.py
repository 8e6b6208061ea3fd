"""The third step: the parameters that do best on the validation part, by Ray Tune with ASHA."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ray import tune as ray_tune
from ray.tune.schedulers import ASHAScheduler
from ray.tune.search.basic_variant import BasicVariantGenerator

from ml_pipeline.errors import PipelineError
from ml_pipeline.network import Parameters
from ml_pipeline.run import Prepared, Run
from ml_pipeline.worker import network_of


@dataclass(frozen=True)
class SearchSpace:
    """Where parameters are looked for."""

    hidden_units: tuple[int, ...]
    """Choices."""
    learning_rates: tuple[float, float]
    """Least and most, logarithmically."""
    penalties: tuple[float, float]
    """Least and most, logarithmically."""


def tune(
    run: Run,
    *,
    space: SearchSpace,
    samples: int,
    epochs: int,
    grace_epochs: int,
    batch_size: int,
    cpus_per_trial: float,
    results: Path,
    seed: int,
) -> Parameters:
    """Tries parameters and leaves the best in the run's folder, with the accuracy that they reached.

    ASHA ends a trial early that is among the worse half of those that came as far.

    Args:
        run: the run, after `preprocess`.
        space: where to look.
        samples: how many are tried.
        epochs: how long the best are tried.
        grace_epochs: how long every one is tried.
        batch_size: rows of a step.
        cpus_per_trial: cores that a trial takes of the cluster.
        results: folder of this machine for Ray Tune's own records.
        seed: which samples of the many.

    Raises:
        PipelineError: no trial came to an end.
    """
    trial = ray_tune.with_parameters(_trial, prepared=run.prepared(), epochs=epochs, batch_size=batch_size, seed=seed)
    tuner = ray_tune.Tuner(
        ray_tune.with_resources(trial, {"cpu": cpus_per_trial}),
        param_space={
            "hidden_units": ray_tune.choice(space.hidden_units),
            "learning_rate": ray_tune.loguniform(*space.learning_rates),
            "penalty": ray_tune.loguniform(*space.penalties),
        },
        tune_config=ray_tune.TuneConfig(
            metric="accuracy",
            mode="max",
            num_samples=samples,
            search_alg=BasicVariantGenerator(random_state=seed),
            scheduler=ASHAScheduler(
                time_attr="training_iteration", max_t=epochs, grace_period=grace_epochs, reduction_factor=2
            ),
        ),
        run_config=ray_tune.RunConfig(storage_path=str(results), verbose=0),
    )
    found = tuner.fit()
    # A trial that fails is none of the data's doing, and what was chosen without it is not what was asked for.
    if found.num_errors:
        raise PipelineError(f"{found.num_errors} of {samples} trials failed, the first with: {found.errors[0]}")
    best: Any = found.get_best_result()
    chosen = Parameters(**best.config)
    run.keep_document(
        "best.json",
        {
            "parameters": asdict(chosen),
            "validation_accuracy": best.metrics["accuracy"],
            "samples": samples,
            "seed": seed,
        },
    )
    return chosen


def _trial(config: dict[str, Any], *, prepared: Prepared, epochs: int, batch_size: int, seed: int) -> None:
    network = network_of(prepared, slice(None), Parameters(**config), batch_size=batch_size, seed=seed)
    validation = prepared.scaled(prepared.x_validation)
    for _ in range(epochs):
        network.epoch()
        ray_tune.report({"accuracy": network.accuracy(validation, prepared.y_validation)})
