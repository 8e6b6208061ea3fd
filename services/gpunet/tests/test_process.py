"""The whole process: its start, its end under load, and clients that never finish a sentence."""

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest
from conftest import picture, running, settings_for

COMMAND = [sys.executable, "-c", "from gpunet.cli import main; main()", "serve"]


@contextlib.asynccontextmanager
async def process(**environment):
    """`gpunet serve` on a port of its own; yields the process and its port (None when it never listened)."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "HOME") if name in os.environ}
    given = {"GPUNET_HOST": "127.0.0.1", "GPUNET_LISTEN_PORT": "0", "GPUNET_BACKEND": "stub"} | environment
    made = await asyncio.create_subprocess_exec(*COMMAND, env=kept | given, stderr=asyncio.subprocess.PIPE, limit=2**20)
    port, lines = None, []
    while line := await made.stderr.readline():
        lines.append(line.decode())
        if found := re.search(r"running on http://127.0.0.1:(\d+)", line.decode()):
            port = int(found[1])
            break

    async def keep():
        while line := await made.stderr.readline():
            lines.append(line.decode())

    keeping = asyncio.create_task(keep())
    try:
        yield made, port, lines
    finally:
        if made.returncode is None:
            made.kill()
        await made.wait()
        await keeping


async def exchange(port, head, body=b""):
    """One request on a connection of its own; returns status and body, or what became of it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(head + body)
        answer = await reader.read()
        return int(answer.split(b" ", 2)[1]), answer.partition(b"\r\n\r\n")[2]
    finally:
        writer.close()


def post(body, *, close=True):
    head = f"POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\nContent-Length: {len(body)}\r\n"
    return (head + ("Connection: close\r\n" if close else "") + "\r\n").encode() + body


GET_READY = b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


async def ready(port):
    for _ in range(500):
        if (await exchange(port, GET_READY))[0] == 200:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("never ready")


@pytest.mark.parametrize("delay", ["0", "0.5"])
async def test_64_clients_and_sigterm_no_accepted_request_is_lost(delay):
    slow = {"GPUNET_STUB_BATCH_MS": "50", "GPUNET_MAX_BATCH": "8", "GPUNET_DRAIN_DELAY": delay}
    async with process(**slow) as (made, port, _):
        await ready(port)
        ended = asyncio.Event()
        answers = []

        async def client(number):
            """Asks over one connection, as a balancer does, until it is told to let go of it."""
            body = picture(number)
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            while True:
                writer.write(post(body, close=False))
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(re.search(rb"content-length: (\d+)", head.lower())[1])
                said = json.loads(await reader.readexactly(length))
                answers.append((int(head.split(b" ", 2)[1]), said["predictions"][0]["class_id"] == number))
                if b"connection: close" in head.lower() or ended.is_set():
                    break
            writer.close()

        tasks = [asyncio.create_task(client(number)) for number in range(64)]
        await asyncio.sleep(0.5)
        before = len(answers)
        made.send_signal(signal.SIGTERM)
        ended.set()
        failures = [error for error in await asyncio.gather(*tasks, return_exceptions=True) if error]
        await asyncio.wait_for(made.wait(), 10)

    assert not failures
    assert len(answers) >= before + 32, "many were under way"
    assert set(answers) == {(200, True)}


async def test_while_it_drains_it_serves_and_is_not_ready():
    async with process(GPUNET_DRAIN_DELAY="1") as (made, port, _):
        await ready(port)
        made.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.2)
        assert (await exchange(port, GET_READY))[0] == 503
        assert (await exchange(port, post(picture(3))))[0] == 200
        await asyncio.wait_for(made.wait(), 5)
        with pytest.raises(ConnectionError):
            await exchange(port, GET_READY)


@pytest.mark.parametrize("signal_", [signal.SIGTERM, signal.SIGINT])
async def test_who_ends_it_sees_no_error(signal_):
    async with process(GPUNET_DRAIN_DELAY="0") as (made, port, lines):
        await ready(port)
        made.send_signal(signal_)
        assert await asyncio.wait_for(made.wait(), 5) == 0

    assert all(json.loads(line)["level"] == "INFO" for line in lines), "no traceback either"


async def test_a_second_signal_ends_it_without_the_delay():
    async with process(GPUNET_DRAIN_DELAY="30") as (made, port, _):
        await ready(port)
        made.send_signal(signal.SIGTERM)
        await asyncio.sleep(0.2)
        started = time.monotonic()
        made.send_signal(signal.SIGTERM)
        await asyncio.wait_for(made.wait(), 5)
        assert time.monotonic() - started < 2


async def test_a_client_that_never_finishes_does_not_hold_up_the_end():
    async with process(GPUNET_DRAIN_DELAY="0", GPUNET_SHUTDOWN_TIMEOUT="1") as (made, port, _):
        await ready(port)
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(post(b"x" * 1000)[:-500])
        await asyncio.sleep(0.2)
        made.send_signal(signal.SIGTERM)
        await asyncio.wait_for(made.wait(), 5)
        writer.close()


async def test_a_model_that_cannot_be_served_ends_the_process_with_the_reason():
    async with process(GPUNET_BACKEND="onnxruntime", MODEL_PATH="/nowhere/gpunet-0.onnx") as (made, _, lines):
        assert await asyncio.wait_for(made.wait(), 10) == 1
        await asyncio.sleep(0.05)

    said = [json.loads(line) for line in lines]
    assert any(line["level"] == "CRITICAL" and "/nowhere/gpunet-0.onnx" in line["message"] for line in said)
    assert all("exception" not in line for line in said), "a wrong setting needs no traceback"


async def test_it_serves_a_real_model_and_keeps_to_its_memory(model_file, tmp_path):
    started = time.monotonic()
    environment = {"GPUNET_BACKEND": "onnxruntime", "MODEL_PATH": str(model_file), "GPUNET_DEVICE_THREADS": "1"}
    async with process(**environment, HOME=str(tmp_path)) as (made, port, lines):
        await ready(port)
        taken = time.monotonic() - started
        for number in range(8):
            status, body = await exchange(port, post(picture(number)))
            assert status == 200
        resident = int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{made.pid}/status").read_text())[1]) // 1024

    assert json.loads(body)["model"] == "gpunet-0"
    assert not list(tmp_path.iterdir()), "neither we nor the runtime, which would report to its maker, keep anything"
    assert all(json.loads(line) for line in lines), "every line of the log is JSON, the runtime's too"
    assert resident <= 300, f"{resident} MiB"
    assert taken < 10, f"2 s on a quiet machine (bench/gpunet.py measures that); it took {taken:.1f} s"


async def test_who_connects_and_says_nothing_or_says_it_slowly_is_given_up():
    async with running(settings_for(header_timeout=0.3)) as (client, _):
        port = client._base_url.port
        for first, then in ((b"", b""), (b"GET / HT", b"T"), (b"GET / HTTP/1.1\r\nHost: x\r\nX", b"y")):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(first)
            started = time.monotonic()

            async def dribble(writer=writer, then=then):
                with contextlib.suppress(ConnectionError):
                    while then:
                        await asyncio.sleep(0.05)
                        writer.write(then)
                        await writer.drain()

            task = asyncio.create_task(dribble())
            with contextlib.suppress(ConnectionError):
                assert await asyncio.wait_for(reader.read(), 3) == b""
            assert 0.2 < time.monotonic() - started < 2
            task.cancel()
            writer.close()


async def test_an_idle_connection_that_has_asked_before_is_kept():
    async with running(settings_for(header_timeout=0.2)) as (client, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", client._base_url.port)
        for _ in range(2):
            writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(re.search(rb"content-length: (\d+)", head)[1]))
            await asyncio.sleep(0.5)
        writer.close()


@pytest.mark.parametrize(
    "request_",
    [b"\x16\x03\x01\x02\x00\x01" * 50, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n", b"\r\n" * 5000,
     b"POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
     b"POST /v1/classify HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Type: image/png\r\n\r\nzz\r\n",
     b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
)  # fmt: skip
async def test_what_is_no_http_does_no_harm(request_):
    async with running(settings_for(header_timeout=0.3, log_level="ERROR")) as (client, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", client._base_url.port)
        with contextlib.suppress(ConnectionError):
            writer.write(request_)
            await writer.drain()
            await asyncio.wait_for(reader.read(200), 3)
        writer.close()
        async with client.get("/livez") as answer:
            assert answer.status == 200
