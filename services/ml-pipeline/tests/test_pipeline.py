"""The steps one after the other, with a real Ray on two cores and scikit-learn's digits."""

import json

import numpy as np
import pytest
from given import LIMITS

from ml_pipeline import cli, storage
from ml_pipeline.arrays import digest
from ml_pipeline.errors import AlreadyThere, PipelineError
from ml_pipeline.evaluate import evaluate
from ml_pipeline.graph import graph_of, told_by
from ml_pipeline.network import Parameters
from ml_pipeline.register import register
from ml_pipeline.run import Run
from ml_pipeline.train import CHECKPOINT, train
from ml_pipeline.tune import SearchSpace, tune
from ml_pipeline.worker import network_of

SPACE = SearchSpace(hidden_units=(32, 64), learning_rates=(0.001, 0.01), penalties=(1e-6, 1e-2))
TRAINING = {"workers": 2, "cpus_per_worker": 1, "checkpoint_epochs": 2, "batch_size": 32, "seed": 1}


def search(run, tmp_path, *, samples=3, epochs=8):
    return tune(
        run,
        space=SPACE,
        samples=samples,
        epochs=epochs,
        grace_epochs=2,
        batch_size=32,
        cpus_per_trial=1,
        results=tmp_path / "results",
        seed=1,
    )


@pytest.fixture
def chosen_run(prepared_run):
    """A run past `tune`, with parameters that are known to do."""

    def choose(**given):
        run = prepared_run(**given)
        parameters = {"hidden_units": 64, "learning_rate": 0.005, "penalty": 1e-4}
        run.keep_document("best.json", {"parameters": parameters})
        return run

    return choose


def place(run, tmp_path, version="v1", minimum_accuracy=0.95):
    return register(
        run, models=str(tmp_path / "models"), name="digits", version=version, minimum_accuracy=minimum_accuracy
    )


def test_digits_are_learned_well_enough_and_registered(ray_cluster, prepared_run, tmp_path):
    run = prepared_run()
    chosen = search(run, tmp_path)
    assert run.document("best.json")["validation_accuracy"] > 0.9
    assert chosen.hidden_units in SPACE.hidden_units
    assert SPACE.learning_rates[0] <= chosen.learning_rate <= SPACE.learning_rates[1]
    assert train(run, epochs=20, **TRAINING) == 0
    judgement = evaluate(run)
    assert judgement["accuracy"] > 0.95
    version = place(run, tmp_path)

    manifest = json.loads(storage.read(f"{version}/manifest.json"))
    model = storage.read(f"{version}/model.onnx")
    assert manifest["sha256"] == digest(model)
    assert manifest["data_version"] == digest(storage.read(str(tmp_path / "digits.npz")))
    assert manifest["metrics"]["accuracy"] == judgement["accuracy"]
    assert manifest["training"]["parameters"] == vars(chosen)
    latest = json.loads(storage.read(str(tmp_path / "models/digits/latest.json")))
    assert latest == {"version": "v1", "sha256": digest(model), "manifest": f"{version}/manifest.json"}
    prepared = run.prepared()
    right = np.mean(told_by(model, prepared.x_test) == prepared.y_test)
    assert right == judgement["accuracy"], "what was judged is what is served"


def test_shuffled_classes_are_not_learned_and_nothing_is_registered(ray_cluster, prepared_run, tmp_path):
    run = prepared_run(shuffled=True)
    search(run, tmp_path, samples=1, epochs=2)
    train(run, epochs=5, **TRAINING | {"workers": 1})
    assert evaluate(run)["accuracy"] < 0.3
    with pytest.raises(PipelineError, match=r"does not exceed 0\.95; nothing was registered"):
        place(run, tmp_path)
    assert not (tmp_path / "models").exists()


def test_a_try_that_was_cut_off_goes_on_from_the_checkpoint_of_the_same_training(ray_cluster, chosen_run, monkeypatch):
    run, written = chosen_run(), []

    def cut_off(uri, content):
        if uri.endswith(CHECKPOINT):
            written.append(uri)
            if len(written) == 3:
                raise KeyboardInterrupt
        write(uri, content)

    write = storage.write
    monkeypatch.setattr(storage, "write", cut_off)
    with pytest.raises(KeyboardInterrupt):
        train(run, epochs=20, **TRAINING)
    monkeypatch.setattr(storage, "write", write)
    assert train(run, epochs=20, **TRAINING) == 4, "two checkpoints of two epochs each were whole"
    assert evaluate(run)["accuracy"] > 0.95
    assert train(run, epochs=1, **TRAINING | {"workers": 1, "seed": 2}) == 0, (
        "the checkpoint of another training is left alone"
    )


def test_workers_without_rows_are_refused(chosen_run):
    with pytest.raises(PipelineError, match="9999 workers cannot share 1257 rows"):
        train(chosen_run(), epochs=1, **TRAINING | {"workers": 9999})


@pytest.fixture
def judged_run(prepared_run):
    """A run of iris past `evaluate`, trained without Ray."""
    run = prepared_run("iris")
    prepared = run.prepared()
    network = network_of(prepared, slice(None), Parameters(16, 0.01, 1e-4), batch_size=16, seed=0)
    for _ in range(30):
        network.epoch()
    storage.write(run.address("model.onnx"), graph_of(network, prepared))
    run.keep_document("training.json", {"model_sha256": "", "seed": 0})
    evaluate(run)
    return run


def test_the_least_accuracy_is_to_be_exceeded(judged_run, tmp_path):
    reached = judged_run.document("evaluation.json")["accuracy"]
    with pytest.raises(PipelineError, match="does not exceed"):
        place(judged_run, tmp_path, minimum_accuracy=reached)
    place(judged_run, tmp_path, minimum_accuracy=reached - 0.001)


def test_a_version_is_written_once(judged_run, tmp_path):
    first = place(judged_run, tmp_path, minimum_accuracy=0.5)
    kept = storage.read(f"{first}/model.onnx")
    assert place(judged_run, tmp_path, minimum_accuracy=0.5) == first, "a try after one that was cut off goes on"
    storage.write(judged_run.address("model.onnx"), kept + b"\0")
    judged_run.keep_document(
        "evaluation.json", judged_run.document("evaluation.json") | {"model_sha256": digest(kept + b"\0")}
    )
    with pytest.raises(AlreadyThere):
        place(judged_run, tmp_path, minimum_accuracy=0.5)
    assert storage.read(f"{first}/model.onnx") == kept


def test_the_newest_version_is_named_last(judged_run, tmp_path, monkeypatch):
    order = []
    for name in ("create", "write"):
        real = getattr(storage, name)
        monkeypatch.setattr(
            storage, name, lambda uri, content, real=real: (order.append(uri.rsplit("/", 1)[1]), real(uri, content))
        )
    place(judged_run, tmp_path, "v1", 0.5)
    place(judged_run, tmp_path, "v2", 0.5)
    assert order == ["model.onnx", "manifest.json", "latest.json"] * 2
    assert json.loads(storage.read(str(tmp_path / "models/digits/latest.json")))["version"] == "v2"


def test_a_model_that_was_not_judged_is_not_registered(judged_run, tmp_path):
    storage.write(judged_run.address("model.onnx"), b"another")
    with pytest.raises(PipelineError, match="not the one that was evaluated"):
        place(judged_run, tmp_path, minimum_accuracy=0.5)


def test_a_model_is_registered_in_s3_as_on_this_machine(judged_run, bucket):
    version = register(judged_run, models=f"{bucket}/models", name="iris", version="v1", minimum_accuracy=0.5)
    assert version == f"{bucket}/models/iris/v1"
    assert json.loads(storage.read(f"{version}/manifest.json"))["classes"] == ["0", "1", "2"]


def limits():
    return [word for name, value in LIMITS.items() for word in (f"--{name.replace('_', '-')}", str(value))]


def test_the_command_walks_the_steps_and_hands_on_what_argo_reads(judged_run, tmp_path, capsys):
    dataset, out = str(tmp_path / "iris.npz"), tmp_path / "out"
    parameters = ["--number", "epochs=5", "--rate", "minimum-accuracy=0.9"]
    given = ["validate", "--dataset", dataset, "--model-name", "iris", *parameters, *limits()]
    assert cli.run([*given, "--output", str(out / "data-version")]) == 0
    version = (out / "data-version").read_text()
    assert version == digest(storage.read(dataset))
    split = ["--validation-share", "0.15", "--test-share", "0.15", "--seed", "1", "--data-version", version]
    assert cli.run(["preprocess", "--dataset", dataset, "--run", judged_run.uri, *split]) == 0
    assert cli.run(["evaluate", "--run", judged_run.uri + "/", "--output", str(out / "accuracy")]) == 0
    assert float((out / "accuracy").read_text()) == pytest.approx(evaluate(judged_run)["accuracy"], abs=1e-6)
    capsys.readouterr()
    assert cli.run([*given, "--number", "workers=2.5"]) == 1
    assert "workers is a whole number" in capsys.readouterr().err
    assert cli.run([*given[:2], dataset + ".csv", *given[3:]]) == 1
    assert capsys.readouterr().err == f"validate: There is no file {dataset}.csv.\n"


def test_a_run_is_found_whatever_process_reads_it(prepared_run):
    run = prepared_run("iris")
    assert Run(run.uri).prepared().classes.tolist() == ["0", "1", "2"]
