"""What the GPUnet service gains over the blocking service that it replaces, and what it costs to start.

Both run side by side with the same device, the same local origin of images and the same clients, in turn, so that a
busy moment of the machine falls on both; only ratios are judged. `python bench/gpunet.py [--rounds N] [--seconds S]`
prints one line a figure and exits 1 when one is over its budget. Needs the service's environment
(`services/gpunet/.venv`).

The device is a stub that takes 2 ms and 0.2 ms an image: nothing here says how fast a GPU is.
"""

import argparse
import asyncio
import base64
import contextlib
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

SERVICE = Path(__file__).resolve().parents[1] / "services" / "gpunet"
PYTHON = SERVICE / ".venv" / "bin" / "python"

CLIENTS = (1, 16, 64)
DELAYS_MS = (0, 50)
LEAST_GAIN = {(0, 64): 2.0, (50, 64): 12.0, (0, 1): 0.85, (50, 1): 0.85}
"""Budget: requests a second, as a multiple of the blocking service's, by delay of the origin and clients."""
MOST_PROBE_SHARE = 1 / 20
"""Budget: p99 of `GET /livez` at 64 clients, as a share of the blocking service's median `GET /`."""
LEAST_REAL_GAIN = 3.0
"""Budget: as `LEAST_GAIN`, with the real network on the processor, 16 clients, 50 ms."""
MOST_START_S = {".onnx": 2.0, ".pth": 5.0}
MOST_MIB = 300
MOST_INSTALLED_MB = 300
"""Budget: all packages that `gpunet[cpu]` needs, installed and compiled."""

# Makes the image that is fetched: 640 x 480, about 62 kB, like a photo in its size and cost of decoding.
IMAGE = """
import io, sys, numpy as np
from PIL import Image
coarse = np.random.default_rng(1).integers(0, 256, (60, 80, 3), np.uint8)
image = np.asarray(Image.fromarray(coarse).resize((640, 480), Image.Resampling.BICUBIC), np.int16)
image = np.clip(image + np.random.default_rng(2).normal(0, 6, image.shape), 0, 255).astype(np.uint8)
data = io.BytesIO()
Image.fromarray(image).save(data, "JPEG", quality=69)
sys.stdout.buffer.write(data.getvalue())
"""
# Writes the files that the service starts from: a graph, and a checkpoint as large as a training run's.
MODELS = """
import sys
from pathlib import Path
sys.path.insert(0, "tests")
from checkpoints import saved, training_run
from gpunet.model.architecture import GPUNET_0
from gpunet.model.graph import write_graph
from gpunet.model.weights import random_weights
arrays = random_weights(GPUNET_0, 0).arrays
run = training_run(arrays, arrays)
run["optimizer"] = {"state": [dict(arrays), dict(arrays)]}
folder = Path(sys.argv[1])
(folder / "gpunet-0.pth").write_bytes(saved(run))
(folder / "gpunet-0.onnx").write_bytes(write_graph(GPUNET_0, arrays, resolution=320).SerializeToString())
"""
# Adds up the files of all that `gpunet[cpu]` needs, as pip's records name them: tests and tools, which the same
# environment has, are in no image. The service's own files are only linked here, and small.
SIZE = """
from importlib.metadata import distribution
from pathlib import Path
from packaging.requirements import Requirement
wanted, seen, files = [("gpunet", ""), ("gpunet", "cpu")], set(), set()
while wanted:
    name, extra = wanted.pop()
    if (name, extra) in seen:
        continue
    seen.add((name, extra))
    package = distribution(name)
    files |= {Path(package.locate_file(file)).resolve() for file in package.files}
    for need in map(Requirement, package.requires or ()):
        if need.marker is None or need.marker.evaluate({"extra": extra}):
            wanted += [(need.name, which) for which in ("", *need.extras)]
print(sum(file.stat().st_size for file in files if file.is_file()))
"""


@dataclass
class Load:
    """What a number of clients saw in a while."""

    answers: int = 0
    failures: int = 0
    seconds: float = 0.0
    probes: list[float] = field(default_factory=list[float])

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.answers / self.seconds


async def ask(port: int, request: bytes, until: float, on_answer: "list[float] | Load", pause_s: float = 0.0) -> None:
    """Asks over one connection until it is time, and notes answers or durations."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (started := time.perf_counter()) < until:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"content-length: (\d+)", head, re.I)
        await reader.readexactly(int(found[1]) if found else 0)
        if isinstance(on_answer, Load):
            # What comes after the end of the measurement does not count.
            if time.perf_counter() < until:
                on_answer.answers += head.startswith(b"HTTP/1.1 200")
                on_answer.failures += not head.startswith(b"HTTP/1.1 200")
        else:
            on_answer.append(time.perf_counter() - started)
            await asyncio.sleep(pause_s)
    writer.close()


async def load(port: int, url: str, probe: str, clients: int, seconds: float) -> Load:
    """Lets clients ask for the same image, each as soon as it has its answer, and asks for `probe` meanwhile."""
    found = Load(seconds=seconds)
    head = "Host: 127.0.0.1\r\nContent-Length: 0\r\n\r\n"
    post = f"POST /predict?image_url={quote(url, safe='')} HTTP/1.1\r\n{head}".encode()
    get = f"GET {probe} HTTP/1.1\r\n{head}".encode()
    until = time.perf_counter() + seconds
    await asyncio.gather(
        *(ask(port, post, until, found) for _ in range(clients)), ask(port, get, until, found.probes, pause_s=0.02)
    )
    return found


@contextlib.asynccontextmanager
async def origin(image: bytes) -> AsyncGenerator[int]:
    """A server of one image; the path says after how many milliseconds it answers."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                await asyncio.sleep(int(head.split(b" ", 2)[1].strip(b"/")) / 1000)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\n")
                writer.write(f"Content-Length: {len(image)}\r\n\r\n".encode() + image)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


def free_port() -> int:
    """A port that nobody listens on."""
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.asynccontextmanager
async def server(command: list[str], port: int, **environment: str) -> AsyncGenerator[subprocess.Popen[bytes]]:
    """A server process that answers at its root."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [PYTHON, *command], cwd=SERVICE, env=os.environ | environment, stdout=output, stderr=output
        )
        try:
            await answering(process, port, "/readyz" if "gpunet.cli" in " ".join(command) else "/")
            yield process
        except BaseException:
            output.seek(0)
            sys.stderr.write(output.read().decode())
            raise
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)


async def answering(process: subprocess.Popen[bytes], port: int, path: str) -> None:
    """Waits until a server says 200."""
    while process.poll() is None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            answer = await reader.read()
            writer.close()
            if b" 200 " in answer[:16]:
                return
        await asyncio.sleep(0.01)
    raise SystemExit(f"the server ended with {process.returncode}")


@contextlib.asynccontextmanager
async def both(device: str, origin_port: int) -> AsyncGenerator[tuple[int, int]]:
    """The blocking service and this one; yields their ports."""
    old, new = free_port(), free_port()
    settings = {
        "GPUNET_BACKEND": "stub" if device == "stub" else "onnxruntime",
        "GPUNET_HOST": "127.0.0.1",
        "GPUNET_LISTEN_PORT": str(new),
        "GPUNET_FETCH_ALLOWED_NETWORKS": "127.0.0.1/32",
        "GPUNET_FETCH_PORTS": str(origin_port),
        "GPUNET_LOG_LEVEL": "WARNING",
        # What the blocking service has.
        "GPUNET_DEVICE_THREADS": "1",
    } | ({} if device == "stub" else {"GPUNET_RANDOM_WEIGHTS": "true", "GPUNET_RESOLUTION": "224"})
    serve = ["-c", "from gpunet.cli import main; main()", "serve"]
    async with server(["bench/source_app.py", str(old)], old, DEVICE=device), server(serve, new, **settings):
        yield old, new


async def compare(device: str, image: bytes, points: list[tuple[int, int]], rounds: int, seconds: float) -> list[bool]:
    """Loads both services at each point (delay of the origin, clients) and prints and judges the ratios."""
    kept: list[bool] = []
    async with origin(image) as origin_port, both(device, origin_port) as (old_port, new_port):
        for delay, clients in points:
            url = f"http://127.0.0.1:{origin_port}/{delay}"
            olds: list[Load] = []
            news: list[Load] = []
            for _ in range(rounds):
                olds.append(await load(old_port, url, "/", clients, seconds))
                news.append(await load(new_port, url, "/livez", clients, seconds))
            assert not any(found.failures for found in olds + news), "every answer must be 200"
            gains = [new.rate / old.rate for old, new in zip(olds, news, strict=True)]
            gain = statistics.median(gains)
            rates = [statistics.median(found.rate for found in side) for side in (olds, news)]
            shown = f"{device}, origin {delay} ms, {clients} clients: {rates[0]:.0f} -> {rates[1]:.0f} requests/s"
            least = LEAST_REAL_GAIN if device != "stub" else LEAST_GAIN.get((delay, clients))
            kept.append(judged(shown, gain, least=least))
            if device == "stub" and clients == max(CLIENTS):
                slow = statistics.median(probe for found in olds for probe in found.probes)
                quick = sorted(probe for found in news for probe in found.probes)
                share = quick[int(0.99 * len(quick))] / slow
                shown = f"  GET /livez p99 {1000 * quick[int(0.99 * len(quick))]:.0f} ms / GET / median {slow:.2f} s"
                kept.append(judged(shown, share, most=MOST_PROBE_SHARE))
    return kept


async def start(model: Path, image: bytes) -> tuple[float, float, float]:
    """Starts the service; returns seconds until it is ready, seconds of processors for that, and MiB after requests."""
    port = free_port()
    settings = {"MODEL_PATH": str(model), "GPUNET_HOST": "127.0.0.1", "GPUNET_LISTEN_PORT": str(port)}
    started = time.perf_counter()
    async with server(["-c", "from gpunet.cli import main; main()", "serve"], port, **settings) as process:
        seconds = time.perf_counter() - started
        ticks = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        processor = (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")
        body = b'{"image_b64": "' + base64.b64encode(image) + b'"}'
        head = f"POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        await asyncio.gather(
            *(ask(port, head.encode() + b"\r\n\r\n" + body, time.perf_counter() + 2, Load()) for _ in range(8))
        )
        status = Path(f"/proc/{process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        assert found
        return seconds, processor, int(found[1]) / 1024


def judged(figure: str, value: float, *, least: float | None = None, most: float | None = None) -> bool:
    """Prints a figure with its budget, if it has one, and tells whether it keeps to it."""
    kept = (least is None or value >= least) and (most is None or value <= most)
    budget = f" (at least {least:g})" if least is not None else f" (at most {most:g})" if most is not None else ""
    print(f"{figure}: {value:.3g}{budget}{'' if kept else '  OVER BUDGET'}", flush=True)
    return kept


async def measure(rounds: int, seconds: float) -> list[bool]:
    """Measures everything."""
    image = subprocess.run([PYTHON, "-c", IMAGE], cwd=SERVICE, check=True, stdout=subprocess.PIPE).stdout
    points = [(delay, clients) for delay in DELAYS_MS for clients in CLIENTS]
    kept = await compare("stub", image, points, rounds, seconds)
    kept += await compare("cpu", image, [(50, 16)], rounds, seconds)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PYTHON, "-c", MODELS, folder], cwd=SERVICE, check=True)
        for suffix, most in MOST_START_S.items():
            starts = [await start(Path(folder, f"gpunet-0{suffix}"), image) for _ in range(rounds)]
            clock, processor, mib = (statistics.median(values) for values in zip(*starts, strict=True))
            kept.append(judged(f"start from {suffix} to ready, s ({processor:.1f} s of processors)", clock, most=most))
            kept.append(judged("  resident after requests, MiB", mib, most=MOST_MIB))
    size = subprocess.run([PYTHON, "-c", SIZE], check=True, stdout=subprocess.PIPE).stdout
    kept.append(judged("installed for a CPU, without tests and tools, MB", int(size) / 10**6, most=MOST_INSTALLED_MB))
    return kept


def main() -> int:
    """Measures, prints, and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each figure (default: 3)")
    parser.add_argument("--seconds", type=float, default=3.0, help="seconds of load in a round (default: 3)")
    options = parser.parse_args()
    if not PYTHON.exists():
        raise SystemExit(f"{PYTHON} is missing: see services/gpunet/README.md for how to make the environment")
    return 0 if all(asyncio.run(measure(options.rounds, options.seconds))) else 1


if __name__ == "__main__":
    sys.exit(main())
