"""What several tests share: weights, images, a service on a loopback port, and an origin of images beside it."""

import asyncio
import contextlib
import io
import sys
from pathlib import Path

import aiohttp
import numpy as np
import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).parent))

from gpunet.model.architecture import GPUNET_0
from gpunet.model.graph import write_graph
from gpunet.model.weights import random_weights
from gpunet.server import make_server
from gpunet.settings import Settings

PARITY_SEED = 7


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    """No test depends on what is set where it runs."""
    for name in ("MODEL_PATH", "MODEL_SHA256", "S3_BUCKET_NAME", "S3_KEY", "S3_VERSION_ID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def weights():
    return random_weights(GPUNET_0, PARITY_SEED).arrays


@pytest.fixture(scope="session")
def graph(weights):
    """A whole model, as `gpunet convert` writes it."""
    metadata = {"name": "gpunet-0", "weights": "ema", "precision": "fp32"}
    return write_graph(GPUNET_0, weights, resolution=320, metadata=metadata).SerializeToString()


@pytest.fixture(scope="session")
def model_file(graph, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "gpunet-0.onnx"
    path.write_bytes(graph)
    return path


def picture(class_id=7, size=(64, 48), kind="PNG", **options):
    """An image for which the stub device answers with this class."""
    image = Image.new("RGB", size, (class_id % 256, class_id // 256, 9))
    data = io.BytesIO()
    image.save(data, kind, **options)
    return data.getvalue()


def noise(size=(640, 480), kind="JPEG", seed=0, **options):
    """An image that compresses badly."""
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8)
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, kind, **options)
    return data.getvalue()


class Origin:
    """A server of images: each path answers with what a test put there."""

    def __init__(self):
        self.answers = {}
        self.asked = []
        self.port = 0

    def url(self, path="/image.png", host="127.0.0.1"):
        return f"http://{host}:{self.port}{path}"

    def put(self, path, body, status=200, headers=(), delay=0.0):
        """Answers `path` with this; `body` may be a function of the writer."""
        self.answers[path] = (body, status, headers, delay)

    async def serve(self, reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode()
            self.asked.append((path, head))
            body, status, headers, delay = self.answers.get(path, (b"nothing here", 404, (), 0))
            await asyncio.sleep(delay)
            if callable(body):
                await body(writer)
            else:
                lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close", *headers]
                writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
                await writer.drain()
        with contextlib.suppress(ConnectionError):
            writer.close()
            await writer.wait_closed()


@pytest.fixture
async def origin():
    made = Origin()
    made.put("/image.png", picture())
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    yield made
    server.close()


def settings_for(origin=None, **changes):
    """Settings of a service that may fetch from the local origin, with a stub for its device."""
    given = {"backend": "stub", "host": "127.0.0.1", "listen_port": 0, "log_level": "WARNING", "drain_delay": 0}
    if origin is not None:
        given |= {"fetch_allowed_networks": "127.0.0.1/32", "fetch_ports": str(origin.port)}
    return Settings(**(given | changes))


@contextlib.asynccontextmanager
async def running(settings, *, until_ready=True):
    """A service on a port of its own, in this event loop; yields a client of it and the service."""
    server = await make_server(settings)
    server.capture_signals = contextlib.nullcontext
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.005)
        assert not task.done(), "the server ended at once"
    port = server.servers[0].sockets[0].getsockname()[1]
    service = server.config.app.state.service
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:
        while until_ready and service.info is None:
            await asyncio.sleep(0.005)
        try:
            yield client, service
        finally:
            server.should_exit = True
            await task
