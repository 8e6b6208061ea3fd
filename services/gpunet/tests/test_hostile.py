"""A thousand files that are no honest images: each gets its answer, and the service goes on."""

import asyncio
import time
from pathlib import Path

import numpy as np
from conftest import noise, picture, running, settings_for
from test_decoding import png

COUNT = 1000
ALLOWED = {200, 413, 415, 422}


def hostile_files(count):
    """Yields damaged, cut, mixed and lying files, the same in each run."""
    draw = np.random.default_rng(9)
    options = {"JPEG": {"quality": 60}, "PNG": {}, "WEBP": {}, "GIF": {}, "BMP": {}}
    good = [noise((48, 32), kind, seed, **given) for seed, (kind, given) in enumerate(options.items())]
    good.append(noise((64, 64), progressive=True, quality=50))
    for number in range(count):
        data = bytearray(good[number % len(good)])
        match number % 7:
            case 0:
                for place in draw.integers(0, len(data), 8):
                    data[place] = draw.integers(256)
            case 1:
                del data[draw.integers(1, len(data)) :]
            case 2:
                place = draw.integers(0, len(data))
                data[place:place] = draw.bytes(200)
            case 3:
                other = good[draw.integers(len(good))]
                data[draw.integers(4, len(data)) :] = other[draw.integers(4, len(other)) :]
            case 4:
                # Headers: sizes, lengths, counts.
                for place in draw.integers(0, min(40, len(data)), 3):
                    data[place] = draw.choice([0, 1, 0x7F, 0x80, 0xFF])
            case 5:
                data = bytearray(png(int(draw.integers(0, 2**31)), int(draw.integers(0, 2**31)), bytes(100)))
            case _:
                data = bytearray(bytes(data[:16]) + draw.bytes(300))
        yield bytes(data)


def resident_mib():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


async def test_a_thousand_hostile_files_get_the_right_status_and_do_no_harm():
    slowest, statuses, before = 0.0, {}, resident_mib()
    async with running(settings_for(log_level="ERROR", stub_batch_ms=0, stub_image_ms=0)) as (client, service):
        gate = asyncio.Semaphore(16)

        async def send(data):
            nonlocal slowest
            async with gate:
                started = time.monotonic()
                async with client.post("/v1/classify", data=data, headers={"Content-Type": "image/png"}) as answer:
                    body = await answer.json()
                slowest = max(slowest, time.monotonic() - started)
                statuses[answer.status] = statuses.get(answer.status, 0) + 1
                assert answer.status in ALLOWED, (answer.status, data[:40])
                assert "predictions" in body or set(body) == {"detail", "code", "request_id"}

        await asyncio.gather(*(send(data) for data in hostile_files(COUNT)))
        async with client.post("/v1/classify", data=picture(3), headers={"Content-Type": "image/png"}) as answer:
            assert answer.status == 200
        assert service._in_flight == 0
        assert service.budget._left == service.settings.max_buffered_bytes, "every byte was given back"

    assert sum(statuses.values()) == COUNT
    assert set(statuses) >= {413, 415, 422}, statuses
    assert slowest < 5
    assert resident_mib() - before < 300
