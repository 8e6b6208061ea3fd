"""The command `ml-pipeline`: one step, with everything that it needs to know as its options."""

import argparse
import sys
from pathlib import Path

from ml_pipeline import storage
from ml_pipeline.cluster import connected
from ml_pipeline.errors import PipelineError
from ml_pipeline.evaluate import evaluate
from ml_pipeline.example_data import SOURCES, write_example
from ml_pipeline.preprocess import preprocess
from ml_pipeline.register import register
from ml_pipeline.run import Run
from ml_pipeline.train import train
from ml_pipeline.tune import SearchSpace, tune
from ml_pipeline.validate import validate


def main() -> None:
    """Runs the command and ends the process with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Runs the command.

    Returns:
        The exit code: 0, 1 for what went wrong, 2 for wrong usage.
    """
    options = _parser().parse_args(arguments)
    steps = {
        "example-data": _example_data,
        "validate": _validate,
        "preprocess": _preprocess,
        "tune": _tune,
        "train": _train,
        "evaluate": _evaluate,
        "register": _register,
    }
    try:
        steps[options.step](options)
    except PipelineError as error:
        print(f"{options.step}: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ml-pipeline", description="One step of a training pipeline.")
    steps = parser.add_subparsers(dest="step", required=True)

    def step(name: str, text: str) -> argparse.ArgumentParser:
        return steps.add_parser(name, help=text, description=text)

    example = step("example-data", "write a small data set to try the pipeline on")
    example.add_argument("name", choices=sorted(SOURCES))
    example.add_argument("uri", help="where to, ending with .csv or .npz")
    example.add_argument("--shuffled", action="store_true", help="deal the classes out anew: nothing can be learned")
    example.add_argument("--seed", type=int, default=0)

    first = step("validate", "check the data set and the workflow's parameters; prints the data set's version")
    _add_dataset(first)
    first.add_argument("--model-name", required=True)
    first.add_argument("--minimum-rows", type=int, required=True)
    first.add_argument("--minimum-class-share", type=float, required=True, help="of an even share, for each class")
    first.add_argument("--maximum-repeated-share", type=float, required=True, help="rows that repeat another one")
    for option, kind in {"--number": "a whole number", "--rate": "a decimal number"}.items():
        first.add_argument(option, action="append", default=[], metavar="NAME=VALUE", help=f"a parameter: {kind}")
    _add_output(first)

    second = step("preprocess", "split the data set and scale it by its training part")
    _add_dataset(second)
    _add_run(second)
    second.add_argument("--data-version", required=True, help="what `validate` printed")
    second.add_argument("--validation-share", type=float, required=True)
    second.add_argument("--test-share", type=float, required=True)
    second.add_argument("--seed", type=int, required=True)

    third = step("tune", "find good parameters with Ray Tune")
    _add_run(third)
    third.add_argument("--samples", type=int, required=True, help="parameters to try")
    third.add_argument("--grace-epochs", type=int, required=True, help="epochs that every trial gets")
    third.add_argument("--hidden-units", type=int, nargs="+", required=True, help="choices")
    third.add_argument("--learning-rates", type=float, nargs=2, required=True, metavar=("LEAST", "MOST"))
    third.add_argument("--penalties", type=float, nargs=2, required=True, metavar=("LEAST", "MOST"))
    third.add_argument("--cpus-per-trial", type=float, required=True)
    third.add_argument("--results", type=Path, required=True, help="folder for Ray Tune's own records")
    _add_training(third)

    fourth = step("train", "train with the best parameters on several Ray workers; goes on from a checkpoint")
    _add_run(fourth)
    fourth.add_argument("--workers", type=int, required=True)
    fourth.add_argument("--cpus-per-worker", type=float, required=True)
    fourth.add_argument("--checkpoint-epochs", type=int, required=True, help="epochs between two checkpoints")
    _add_training(fourth)

    fifth = step("evaluate", "judge the model by the test part; prints its accuracy")
    _add_run(fifth)
    _add_output(fifth)

    last = step("register", "give a model that is good enough its place among the models")
    _add_run(last)
    last.add_argument("--models", required=True, help="address of the folder of all models")
    last.add_argument("--model-name", required=True)
    last.add_argument("--version", required=True, help="written once")
    last.add_argument("--minimum-accuracy", type=float, required=True, help="the accuracy to exceed")
    return parser


def _add_dataset(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dataset", required=True, help="s3://bucket/key or a path, ending with .csv or .npz")


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--run", type=_run_of, required=True, help="address of the run's folder")


def _run_of(uri: str) -> Run:
    return Run(uri.rstrip("/"))


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", help="a file for what is printed too, as Argo reads it")


def _add_training(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--local-cpus", type=int, help="start a Ray here with so many cores; default: join a cluster")


def _tell(options: argparse.Namespace, text: str) -> None:
    print(text)
    if options.output:
        storage.write(options.output, text.encode())


def _example_data(options: argparse.Namespace) -> None:
    write_example(options.name, options.uri, shuffled=options.shuffled, seed=options.seed)


def _by_name(given: list[str]) -> dict[str, str]:
    return {name: value for name, _, value in (pair.partition("=") for pair in given)}


def _validate(options: argparse.Namespace) -> None:
    version = validate(
        options.dataset,
        model_name=options.model_name,
        numbers=_by_name(options.number),
        rates=_by_name(options.rate),
        minimum_rows=options.minimum_rows,
        minimum_class_share=options.minimum_class_share,
        maximum_repeated_share=options.maximum_repeated_share,
    )
    _tell(options, version)


def _preprocess(options: argparse.Namespace) -> None:
    parts = preprocess(
        options.dataset,
        options.run,
        data_version=options.data_version,
        validation_share=options.validation_share,
        test_share=options.test_share,
        seed=options.seed,
    )
    print(f"{len(parts.x_train)} rows to train, {len(parts.x_validation)} to validate, {len(parts.x_test)} to test")


def _tune(options: argparse.Namespace) -> None:
    with connected(options.local_cpus):
        chosen = tune(
            options.run,
            space=SearchSpace(tuple(options.hidden_units), tuple(options.learning_rates), tuple(options.penalties)),
            samples=options.samples,
            epochs=options.epochs,
            grace_epochs=options.grace_epochs,
            batch_size=options.batch_size,
            cpus_per_trial=options.cpus_per_trial,
            results=options.results,
            seed=options.seed,
        )
    print(chosen)


def _train(options: argparse.Namespace) -> None:
    with connected(options.local_cpus):
        first = train(
            options.run,
            workers=options.workers,
            cpus_per_worker=options.cpus_per_worker,
            epochs=options.epochs,
            checkpoint_epochs=options.checkpoint_epochs,
            batch_size=options.batch_size,
            seed=options.seed,
        )
    print(f"trained from epoch {first} to {options.epochs}")


def _evaluate(options: argparse.Namespace) -> None:
    # A plain decimal number: Argo compares it with the least one.
    _tell(options, f"{evaluate(options.run)['accuracy']:.6f}")


def _register(options: argparse.Namespace) -> None:
    place = register(
        options.run,
        models=options.models.rstrip("/"),
        name=options.model_name,
        version=options.version,
        minimum_accuracy=options.minimum_accuracy,
    )
    print(place)
