"""The steps of a training pipeline on tabular data. `ml-pipeline --help` lists them; the README tells the rest."""

import os

# ONNX Runtime's builds report to Microsoft and keep an id of the machine below HOME. This is read when they are loaded.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
