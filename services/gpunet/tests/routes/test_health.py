"""What probes, scrapers and browsers get."""

import asyncio
import json
import logging
import time

import pytest
from conftest import picture, running, settings_for

from gpunet import service as service_module
from gpunet.logs import JsonFormatter, request_id_of, trace_id_of
from gpunet.model.loading import load
from gpunet.routes.page import prefers_html

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"


async def get(client, path, **headers):
    async with client.get(path, headers=headers) as answer:
        return answer, await answer.read()


async def test_until_the_model_is_warm_it_is_alive_but_not_ready(monkeypatch):
    def slowly(choice):
        time.sleep(0.3)
        return load(choice)

    monkeypatch.setattr(service_module, "load", slowly)
    async with running(settings_for(), until_ready=False) as (client, service):
        statuses = {
            path: (await get(client, path))[0].status for path in ("/livez", "/startupz", "/readyz", "/version")
        }
        assert statuses == {"/livez": 200, "/startupz": 503, "/readyz": 503, "/version": 503}
        async with client.post("/v1/classify", data=picture(), headers={"Content-Type": "image/png"}) as answer:
            assert (answer.status, (await answer.json())["code"]) == (503, "not_ready")
            assert answer.headers["Retry-After"] == "5"
        while service.info is None:
            await asyncio.sleep(0.01)
        statuses = {path: (await get(client, path))[0].status for path in statuses}
        assert set(statuses.values()) == {200}


async def test_when_it_ends_it_is_alive_and_not_ready_and_lets_connections_go():
    async with running(settings_for()) as (client, service):
        service.drain()
        ready, body = await get(client, "/readyz")
        assert (ready.status, json.loads(body)) == (503, {"status": "draining"})
        assert (await get(client, "/livez"))[0].status == 200
        assert (await get(client, "/startupz"))[0].status == 200
        async with client.post("/v1/classify", data=picture(), headers={"Content-Type": "image/png"}) as answer:
            assert answer.status == 200, "what still comes is served"
            assert answer.headers["Connection"] == "close"


async def test_a_device_that_does_not_come_back_ends_liveness():
    async with running(settings_for(stub_batch_ms=400, stuck_after=0.1, max_batch=1)) as (client, _):
        await asyncio.sleep(0.5)
        assert (await get(client, "/livez"))[0].status == 200, "warm-up does not count"
        options = {"data": picture(), "headers": {"Content-Type": "image/png"}}
        task = asyncio.create_task(client.post("/v1/classify", **options).__aenter__())
        await asyncio.sleep(0.25)
        answer, body = await get(client, "/livez")
        assert (answer.status, json.loads(body)) == (503, {"status": "stuck"})
        (await task).release()


async def test_metrics_name_what_the_autoscaler_and_dashboards_read():
    async with running(settings_for()) as (client, _):
        _, before = await get(client, "/metrics")
        assert b'inference_requests_total{outcome="ok"} 0.0' in before, "a rate needs a first value"
        for _ in range(3):
            await client.post("/v1/classify", data=picture(), headers={"Content-Type": "image/png"})
        for path in ("/", "/livez", "/readyz", "/startupz", "/version", "/metrics"):
            await get(client, path)
        answer, after = await get(client, "/metrics")

    text = after.decode()
    assert text.count("inference_requests_total{") == 1, "probes and scrapes are no classifications"
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert 'inference_requests_total{outcome="ok"} 3.0' in text
    for stage in ("fetch", "decode", "queue", "device", "post"):
        assert f'inference_stage_seconds_count{{stage="{stage}"}}' in text
    for name in ("request_seconds_count", "batch_size_sum", "queue_depth", "in_flight"):
        assert f"inference_{name} " in text
    assert 'model_info{name="stub"' in text
    assert "model_load_seconds" in text


async def test_version_tells_which_model_is_served():
    async with running(settings_for()) as (client, _):
        _, body = await get(client, "/version")

    assert set(json.loads(body)) == {
        "service", "name", "version", "sha256", "weights", "provider", "precision", "resolution"
    }  # fmt: skip


async def test_programs_get_the_sources_greeting_and_browsers_a_page():
    async with running(settings_for()) as (client, _):
        for accept in ("*/*", "application/json", "text/html;q=0.1,application/json", ""):
            answer, body = await get(client, "/", Accept=accept)
            assert json.loads(body) == {"status": "hello"}
            assert answer.headers["Vary"] == "Accept"
        answer, body = await get(client, "/", Accept=BROWSER)

    assert answer.headers["Content-Type"].startswith("text/html")
    assert b"<title>GPUNet</title>" in body
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert b"https://cdn" not in body, "nothing comes from elsewhere"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [(BROWSER, True), ("text/html", True), ("*/*", False), ("", False), ("text/html;q=0", False),
     ("text/html;q=x", False), ("application/json, text/html", False),
     ("application/json;q=0.5, text/html", True), (";;,,=", False)],
)  # fmt: skip
def test_accept_is_read_with_its_weights(accept, expected):
    assert prefers_html(accept) is expected


async def test_a_request_id_is_kept_when_it_is_a_plain_word_and_made_otherwise():
    async with running(settings_for()) as (client, _):
        answer, _ = await get(client, "/", **{"X-Request-ID": "Root=1-67891233-abcdef"})
        assert answer.headers["X-Request-ID"] == "Root=1-67891233-abcdef"
        for strange in ("a b", "x" * 200, '"}{"level":"ERROR"'):
            answer, _ = await get(client, "/", **{"X-Request-ID": strange})
            assert answer.headers["X-Request-ID"] != strange


async def test_log_lines_are_json_with_request_and_trace_and_without_queries(caplog):
    caplog.handler.setFormatter(JsonFormatter())
    lines = []

    class Keeper(logging.Handler):
        def emit(self, record):
            lines.append(json.loads(JsonFormatter().format(record)))

    logger, keeper = logging.getLogger("gpunet.access"), Keeper()
    logger.addHandler(keeper)
    logger.setLevel("INFO")
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with running(settings_for()) as (client, _):
        url = "http://127.0.0.1:9/x?signature=secret"
        async with client.post(
            "/predict", params={"image_url": url}, headers={"X-Request-ID": "r-1", "traceparent": trace}
        ):
            pass
    logger.removeHandler(keeper)
    line = next(line for line in lines if line["message"] == "request")

    assert (line["request_id"], line["trace_id"]) == ("r-1", "0af7651916cd43dd8448eb211c80319c")
    assert (line["method"], line["path"], line["status"]) == ("POST", "/predict", 403)
    assert "secret" not in json.dumps(lines)


def test_what_is_no_id_or_trace_is_left_out():
    assert len(request_id_of(None)) == 16
    assert trace_id_of("00-xyz") == ""


async def test_an_error_that_nobody_thought_of_tells_the_client_nothing(monkeypatch):
    async with running(settings_for(log_level="ERROR")) as (client, service):

        async def broken(_):
            raise RuntimeError("password=hunter2")

        monkeypatch.setattr(service._decoder, "decode", broken)
        async with client.post("/v1/classify", data=picture(), headers={"Content-Type": "image/png"}) as answer:
            text = await answer.text()
        assert answer.status == 500
        assert json.loads(text)["code"] == "internal_error"
        assert "hunter2" not in text
        assert answer.headers["X-Request-ID"] == json.loads(text)["request_id"]
        assert 'outcome="internal_error"} 1.0' in service.metrics.text().decode()
