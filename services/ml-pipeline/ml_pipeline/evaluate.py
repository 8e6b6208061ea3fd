"""The fifth step: how good the model is on the test part, which no step before has used.

What is judged is the graph itself, as it would be served, and not the network that it was made from.
"""

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

from ml_pipeline import storage
from ml_pipeline.arrays import digest
from ml_pipeline.graph import told_by
from ml_pipeline.run import Run


def evaluate(run: Run) -> dict[str, Any]:
    """Judges the run's model, and leaves the judgement in the run's folder.

    Args:
        run: the run, after `train`.

    Returns:
        `accuracy` and `macro_f1`, the `confusion` of the true class (rows) with the one that was told, and which model
        and data they are of.
    """
    graph, prepared = storage.read(run.address("model.onnx")), run.prepared()
    told = told_by(graph, prepared.x_test)
    labels = np.arange(len(prepared.classes))
    score: Any = f1_score
    judgement = {
        "accuracy": float(accuracy_score(prepared.y_test, told)),
        "macro_f1": float(score(prepared.y_test, told, labels=labels, average="macro", zero_division=0)),
        "confusion": confusion_matrix(prepared.y_test, told, labels=labels).tolist(),
        "rows": len(prepared.x_test),
        "model_sha256": digest(graph),
        "data_version": str(prepared.data_version),
    }
    run.keep_document("evaluation.json", judgement)
    return judgement
