"""The last step: a model that is good enough gets its place among the models.

`<models>/<name>/<version>/` has `model.onnx` and `manifest.json`, written once; `<models>/<name>/latest.json` names the
newest version and is written last: whoever follows it finds a whole model.
"""

from typing import Any

from ml_pipeline import storage
from ml_pipeline.arrays import digest, to_json
from ml_pipeline.errors import AlreadyThere, PipelineError
from ml_pipeline.run import Run


def register(run: Run, *, models: str, name: str, version: str, minimum_accuracy: float) -> str:
    """Registers the run's model.

    Args:
        run: the run, after `evaluate`.
        models: address of the folder of all models.
        name: the model's name.
        version: the version's name, one that the model has not had.
        minimum_accuracy: the accuracy that the model must exceed, whoever called this step.

    Returns:
        The address of the version's folder.

    Raises:
        PipelineError: the model is not good enough, or is not the one that was judged.
        AlreadyThere: the version exists and is another model.
    """
    evaluation, training = run.document("evaluation.json"), run.document("training.json")
    graph, prepared = storage.read(run.address("model.onnx")), run.prepared()
    if not evaluation["accuracy"] > minimum_accuracy:
        raise PipelineError(
            f"An accuracy of {evaluation['accuracy']:.4f} does not exceed {minimum_accuracy}; nothing was registered."
        )
    if digest(graph) != evaluation["model_sha256"]:
        raise PipelineError("The run's model is not the one that was evaluated; evaluate it again.")
    manifest: dict[str, Any] = {
        "name": name,
        "version": version,
        "format": "onnx",
        "sha256": digest(graph),
        "classes": prepared.classes.tolist(),
        "features": int(prepared.x_train.shape[1]),
        "data_version": evaluation["data_version"],
        "metrics": {key: evaluation[key] for key in ("accuracy", "macro_f1", "confusion", "rows")},
        "training": {key: value for key, value in training.items() if key != "model_sha256"},
        "run": run.uri,
    }
    place = f"{models}/{name}/{version}"
    _create_once(f"{place}/model.onnx", graph)
    _create_once(f"{place}/manifest.json", to_json(manifest))
    pointer = {"version": version, "sha256": manifest["sha256"], "manifest": f"{place}/manifest.json"}
    storage.write(f"{models}/{name}/latest.json", to_json(pointer))
    return place


def _create_once(uri: str, content: bytes) -> None:
    """Writes a file that never changes; a try that was cut off finds its own and goes on."""
    try:
        storage.create(uri, content)
    except AlreadyThere:
        if storage.read(uri) != content:
            raise
