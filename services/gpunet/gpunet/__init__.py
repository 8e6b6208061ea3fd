"""GPUNet-0 as a service: an image in, ImageNet labels out. `gpunet serve` runs it; the README tells the rest."""

import os

# ONNX Runtime's builds report to Microsoft and keep an id of the machine below HOME. This is read when they are loaded.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
