"""The API as a client sees it: forms of requests, answers, errors, and what is said when it is too much."""

import asyncio
import base64
import json
import time

import aiohttp
import pytest
from conftest import noise, picture, running, settings_for

PNG = picture(526)


async def post(client, path="/v1/classify", **options):
    async with client.post(path, **options) as answer:
        return answer, await answer.json()


def best(body):
    return body["predictions"][0]


async def test_predict_answers_as_the_sources_service_does(origin):
    origin.put("/a.png", PNG)
    async with running(settings_for(origin)) as (client, _):
        answer, body = await post(client, "/predict", params={"image_url": origin.url("/a.png")})

    assert answer.status == 200
    assert list(body) == ["predictions"]
    assert len(body["predictions"]) == 5
    assert all(set(found) == {"label", "probability"} for found in body["predictions"])
    assert best(body)["label"] == "desk"
    shares = [found["probability"] for found in body["predictions"]]
    assert shares == sorted(shares, reverse=True)


async def test_an_image_can_be_sent_in_four_ways(origin):
    origin.put("/a.png", PNG)
    form = aiohttp.FormData()
    form.add_field("image", PNG, filename="a.png", content_type="image/png")
    form.add_field("top_k", "3")
    ways = [
        {"json": {"image_url": origin.url("/a.png"), "top_k": 3}},
        {"json": {"image_b64": base64.b64encode(PNG).decode(), "top_k": 3}},
        {"data": PNG, "headers": {"Content-Type": "image/png"}, "params": {"top_k": "3"}},
        {"data": PNG, "headers": {"Content-Type": "application/octet-stream"}, "params": {"top_k": "3"}},
        {"data": form},
    ]
    async with running(settings_for(origin)) as (client, _):
        for way in ways:
            answer, body = await post(client, **way)
            assert answer.status == 200, body
            assert len(body["predictions"]) == 3
            assert best(body) | {"probability": 0} == {
                "label": "desk", "probability": 0, "class_id": 526, "wnid": "n03179701"
            }  # fmt: skip
            assert body["model"] == "stub"
            assert body["request_id"] == answer.headers["X-Request-ID"]


WRONG = [
    ({"json": {}}, 400, "invalid_request"),
    ({"json": {"image_url": "http://a/", "image_b64": "QQ=="}}, 400, "invalid_request"),
    ({"json": {"image_url": "http://a/", "top_k": 0}}, 400, "invalid_request"),
    ({"json": {"image_url": "http://a/", "top_k": 1001}}, 400, "invalid_request"),
    ({"json": {"image_url": "http://a/", "top_k": "5"}}, 400, "invalid_request"),
    ({"json": {"image_url": "http://a/", "topk": 5}}, 400, "invalid_request"),
    ({"json": {"image_b64": "not base64!"}}, 400, "invalid_request"),
    ({"json": [1]}, 400, "invalid_request"),
    ({"data": b"{" * 5000, "headers": {"Content-Type": "application/json"}}, 400, "invalid_request"),
    ({"data": b"[" * 15000, "headers": {"Content-Type": "application/json"}}, 400, "invalid_request"),
    ({"data": b"\xff", "headers": {"Content-Type": "application/json"}}, 400, "invalid_request"),
    ({"data": PNG, "headers": {"Content-Type": "image/png"}, "params": {"top_k": "x"}}, 400, "invalid_request"),
    ({"data": PNG, "headers": {"Content-Type": "image/png"}, "params": {"top_k": "1_0"}}, 400, "invalid_request"),
    ({"data": b"--x--", "headers": {"Content-Type": "multipart/form-data; boundary=x"}}, 400, "invalid_request"),
    ({"json": {"image_url": "nonsense"}}, 400, "invalid_url"),
    ({"json": {"image_url": "http://127.0.0.1:22/"}}, 403, "blocked_url"),
    ({"json": {"image_url": "http://169.254.169.254/latest"}}, 403, "blocked_url"),
    ({"data": PNG, "headers": {"Content-Type": "text/plain"}}, 415, "unsupported_media"),
    ({"data": b"no image", "headers": {"Content-Type": "image/png"}}, 415, "unsupported_media"),
    ({"data": b"", "headers": {"Content-Type": "image/png"}}, 415, "unsupported_media"),
    ({"data": noise((99, 99), "PNG")[:9000], "headers": {"Content-Type": "image/png"}}, 422, "undecodable_image"),
    ({"data": bytes(2**19 + 1), "headers": {"Content-Type": "image/png"}}, 413, "image_too_large"),
    ({"json": {"image_b64": "A" * 800_000}}, 413, "image_too_large"),
]  # fmt: skip


async def test_what_is_wrong_is_said_in_one_form_without_anything_of_the_request():
    async with running(settings_for(max_image_bytes=2**19)) as (client, _):
        for options, status, code in WRONG:
            answer, body = await post(client, **options)
            assert (answer.status, body["code"]) == (status, code), str(options)[:200]
            assert set(body) == {"detail", "code", "request_id"}
            assert "169.254" not in json.dumps(body)


@pytest.mark.parametrize(
    ("origins", "status", "code"),
    [({"status": 404}, 502, "origin_failed"), ({"delay": 3.0}, 504, "origin_timeout"), ({}, 415, "unsupported_media")],
)
async def test_an_origins_fault_is_told_apart(origin, origins, status, code):
    origin.put("/x", b"secret of the origin", **origins)
    async with running(settings_for(origin, fetch_timeout=0.3)) as (client, _):
        answer, body = await post(client, "/predict", params={"image_url": origin.url("/x")})

    assert (answer.status, body["code"]) == (status, code)
    assert "secret" not in json.dumps(body)


async def test_missing_parameters_paths_and_methods_have_the_same_form():
    async with running(settings_for()) as (client, _):
        for method, path, status, code in (
            ("POST", "/predict", 400, "invalid_request"),
            ("GET", "/nothing", 404, "not_found"),
            ("GET", "/predict", 405, "method_not_allowed"),
            ("DELETE", "/", 405, "method_not_allowed"),
        ):
            async with client.request(method, path) as answer:
                assert (answer.status, (await answer.json())["code"]) == (status, code)


async def test_a_bad_image_never_fails_its_neighbours():
    good = [{"data": picture(n), "headers": {"Content-Type": "image/png"}} for n in range(40)]
    bad = [{"data": b"junk", "headers": {"Content-Type": "image/png"}} for _ in range(20)]
    async with running(settings_for()) as (client, _):
        answers = await asyncio.gather(
            *(post(client, **way) for pair in zip(good, bad * 2, strict=True) for way in pair)
        )

    statuses = [answer.status for answer, _ in answers]
    assert statuses[::2] == [200] * 40
    assert set(statuses[1::2]) == {415}
    assert [best(body)["class_id"] for _, body in answers[::2]] == list(range(40)), "and each gets its own answer"


async def test_under_pressure_it_refuses_at_once_and_says_when_to_come_back():
    slow = settings_for(stub_batch_ms=100, max_batch=1, queue_capacity=2, max_requests=64)
    async with running(slow) as (client, _service):
        started = time.monotonic()
        options = {"data": PNG, "headers": {"Content-Type": "image/png"}}
        answers = await asyncio.gather(*(post(client, **options) for _ in range(20)))
        taken = time.monotonic() - started

    refused = [answer for answer, _ in answers if answer.status == 503]
    assert 10 <= len(refused) <= 18
    assert all(answer.headers["Retry-After"] == "1" for answer in refused)
    assert sum(answer.status == 200 for answer, _ in answers) == 20 - len(refused)
    assert taken < 1.5


async def test_too_many_requests_at_once_are_refused_before_their_bodies_are_read():
    async with running(settings_for(stub_batch_ms=100, max_batch=1, max_requests=3)) as (client, service):
        options = {"data": PNG, "headers": {"Content-Type": "image/png"}}
        answers = await asyncio.gather(*(post(client, **options) for _ in range(10)))
        text = service.metrics.text().decode()

    assert sorted({answer.status for answer, _ in answers}) == [200, 503]
    assert 'inference_rejected_total{reason="overloaded"} 7.0' in text
    assert 'inference_requests_total{outcome="overloaded"} 7.0' in text, "who is refused is demand as well"


async def test_a_request_that_waits_too_long_ends_with_504():
    async with running(settings_for(stub_batch_ms=300, max_batch=1, request_timeout=0.4)) as (client, _):
        options = {"data": PNG, "headers": {"Content-Type": "image/png"}}
        answers = await asyncio.gather(*(post(client, **options) for _ in range(6)))

    statuses = sorted(answer.status for answer, _ in answers)
    assert statuses[0] == 200
    assert statuses[-1] == 504


async def test_whoever_goes_away_is_dropped(origin):
    origin.put("/slow", PNG, delay=0.4)
    async with running(settings_for(origin, stub_batch_ms=200, max_batch=1)) as (client, service):
        # One by upload, waiting for the device; one by URL, waiting for the origin.
        ways = [("/v1/classify", {"data": PNG, "headers": {"Content-Type": "image/png"}})] * 4
        ways.append(("/predict", {"params": {"image_url": origin.url("/slow")}}))
        tasks = [asyncio.create_task(post(client, path, **options)) for path, options in ways]
        await asyncio.sleep(0.12)
        assert service._in_flight == 5
        for task in tasks:
            task.cancel()
        await asyncio.sleep(0.1)
        assert service._in_flight == 0, "nobody works for them any more"
        text = service.metrics.text().decode()

    assert 'inference_requests_total{outcome="client_gone"} 5.0' in text


async def test_memory_for_bodies_is_bounded():
    settings = settings_for(max_buffered_bytes=2**20, max_image_bytes=2**20, stub_batch_ms=1)
    started, go_on = asyncio.Event(), asyncio.Event()

    async def slowly():
        yield bytes(900_000)
        started.set()
        await go_on.wait()
        yield b"x"

    async with running(settings) as (client, _):
        first = asyncio.create_task(post(client, data=slowly(), headers={"Content-Type": "image/png"}))
        await started.wait()
        await asyncio.sleep(0.1)
        answer, body = await post(client, data=bytes(500_000), headers={"Content-Type": "image/png"})
        assert (answer.status, body["code"]) == (503, "overloaded")
        go_on.set()
        await first
        answer, body = await post(client, data=bytes(500_000), headers={"Content-Type": "image/png"})
        assert answer.status == 415, "there is room again"


async def test_a_body_that_grows_without_an_announcement_is_cut_off():
    async def endless():
        for _ in range(200):
            yield bytes(2**16)

    async with running(settings_for(max_image_bytes=2**20)) as (client, _):
        answer, body = await post(client, data=endless(), headers={"Content-Type": "image/png"})

    assert (answer.status, body["code"]) == (413, "image_too_large"), "and the answer arrives, although bytes were left"


async def test_a_slow_body_ends_with_408():
    async with running(settings_for(body_timeout=0.2)) as (client, _):
        started = time.monotonic()
        reader, writer = await asyncio.open_connection("127.0.0.1", client._base_url.port)
        writer.write(b"POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Type: image/png\r\nContent-Length: 99\r\n\r\nx")
        head = await reader.readuntil(b"\r\n\r\n")
        body = json.loads(await reader.read(1000))
        writer.close()

    assert head.startswith(b"HTTP/1.1 408 ")
    assert body["code"] == "request_timeout"
    assert time.monotonic() - started < 3
