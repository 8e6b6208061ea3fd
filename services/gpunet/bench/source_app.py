"""The blocking pattern of the service that this one replaces, for comparison: one request after the other.

An `async` route that fetches with `requests`, decodes with Pillow and waits for the device, all in the event loop; 256
and 224 pixels, bilinear, normalised by the processor. The device is the same as the service's: its stub, or the same
graph in ONNX Runtime, one image at a time. Run by `bench/gpunet.py`.
"""

import os
import sys
from io import BytesIO

import numpy as np
import requests
import uvicorn
from fastapi import FastAPI, HTTPException
from PIL import Image

from gpunet.labels import labels
from gpunet.model.architecture import GPUNET_0
from gpunet.model.backend import ModelInfo, StubBackend
from gpunet.model.graph import write_graph
from gpunet.model.onnx_backend import OnnxBackend
from gpunet.model.weights import random_weights

MEAN, DEVIATION = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)
SIZE, SCALED = 224, 256

app = FastAPI()
names = [label.name for label in labels()]


def make_device():
    if os.environ["DEVICE"] == "stub":
        return StubBackend()
    graph = write_graph(GPUNET_0, random_weights(GPUNET_0, 0).arrays, resolution=SIZE).SerializeToString()
    return OnnxBackend(graph, ModelInfo("", "", "", "", "", "", 0), device="cpu", threads=1, buckets=(1,))


device = make_device()


def preprocess(image):
    shorter = min(image.size)
    width, height = (int(SCALED * side / shorter) for side in image.size)
    left, top = round((width - SIZE) / 2), round((height - SIZE) / 2)
    scaled = image.resize((width, height), Image.Resampling.BILINEAR).crop((left, top, left + SIZE, top + SIZE))
    floats = np.asarray(scaled, np.float32).transpose(2, 0, 1) / 255
    return (floats - MEAN[:, None, None]) / DEVIATION[:, None, None]


@app.get("/")
async def hello():
    return {"status": "hello"}


@app.post("/predict")
async def predict(image_url: str):
    try:
        response = requests.get(image_url)
        response.raise_for_status()
        image = Image.open(BytesIO(response.content)).convert("RGB")
        preprocess(image)
        # The graph normalises once more: its time is what counts here.
        logits = device.run(np.asarray(image.resize((SIZE, SIZE), Image.Resampling.NEAREST))[None])[0]
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        best = np.argsort(-shares)[:5]
        return {"predictions": [{"label": names[n], "probability": float(shares[n])} for n in best]}
    except Exception as error:
        raise HTTPException(status_code=400, detail=str(error)) from error


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", access_log=False)
