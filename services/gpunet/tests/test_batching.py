"""Batches: greedy, bounded, in time, and nobody pays for a neighbour."""

import asyncio
import contextlib
import time

import numpy as np
import pytest

from gpunet.batching import Batcher, Listeners
from gpunet.errors import DeadlineExceeded, Overloaded, RequestFailed
from gpunet.model.backend import StubBackend, buckets_up_to

SIZE = 4


class Device:
    """A backend that remembers its batches; an image whose first value is 13 makes it fail."""

    def __init__(self, most=8, seconds=0.0):
        self.buckets = buckets_up_to(most)
        self.batches = []
        self.seconds = seconds
        self.info = StubBackend().info

    def run(self, images):
        time.sleep(self.seconds)
        values = images[:, 0, 0, 0].tolist()
        self.batches.append(values)
        if 13 in values:
            raise RuntimeError("device-side assert")
        return np.array([[value] for value in values], np.float32)


def image(value):
    return np.full((SIZE, SIZE, 3), value, np.uint8)


@contextlib.asynccontextmanager
async def batcher(device, **options):
    made = Batcher(device, **({"capacity": 64} | options))
    try:
        yield made
    finally:
        await made.close()


def soon():
    return asyncio.get_running_loop().time() + 5


async def test_each_gets_its_own_answer_in_batches_that_grow_under_load():
    device = Device(seconds=0.01)
    async with batcher(device) as made:
        answers = await asyncio.gather(*(made.run(image(n), deadline=soon()) for n in range(20, 60)))

    assert [int(row[0]) for row in answers] == list(range(20, 60))
    assert max(len(batch) for batch in device.batches) == 8
    assert len(device.batches) <= 7


async def test_one_alone_does_not_wait_for_company():
    async with batcher(Device()) as made:
        started = time.perf_counter()
        for n in range(20):
            await made.run(image(n + 20), deadline=soon())
        assert time.perf_counter() - started < 0.2


async def test_a_batch_is_filled_up_to_a_bucket_and_the_filling_is_answered_to_nobody():
    device = Device(seconds=0.02)
    async with batcher(device) as made:
        first = asyncio.create_task(made.run(image(1), deadline=soon()))
        await asyncio.sleep(0.01)
        rest = await asyncio.gather(*(made.run(image(n), deadline=soon()) for n in (2, 3, 4)))
        await first

    assert device.batches == [[1], [2, 3, 4, 0]]
    assert [int(row[0]) for row in rest] == [2, 3, 4]


async def test_a_window_waits_for_company():
    device = Device()
    async with batcher(device, window_s=0.05) as made:
        first = asyncio.create_task(made.run(image(1), deadline=soon()))
        await asyncio.sleep(0.01)
        await made.run(image(2), deadline=soon())
        await first

    assert device.batches == [[1, 2]]


async def test_a_full_queue_refuses():
    async with batcher(Device(most=1, seconds=0.05), capacity=3) as made:
        tasks = [asyncio.create_task(made.run(image(n + 20), deadline=soon())) for n in range(6)]
        done = await asyncio.gather(*tasks, return_exceptions=True)

    refused = [error for error in done if isinstance(error, Overloaded)]
    assert 2 <= len(refused) <= 3
    assert all(isinstance(answer, Overloaded | np.ndarray) for answer in done)


async def test_who_waits_too_long_is_dropped_before_the_device():
    device = Device(most=1, seconds=0.05)
    async with batcher(device) as made:
        first = asyncio.create_task(made.run(image(20), deadline=soon()))
        await asyncio.sleep(0.01)
        with pytest.raises(DeadlineExceeded):
            await made.run(image(21), deadline=asyncio.get_running_loop().time() + 0.01)
        await first

    assert device.batches == [[20]]


async def test_who_went_away_is_dropped_and_makes_room():
    device = Device(most=1, seconds=0.05)
    async with batcher(device, capacity=2) as made:
        first = asyncio.create_task(made.run(image(20), deadline=soon()))
        await asyncio.sleep(0.01)
        gone = [asyncio.create_task(made.run(image(n), deadline=soon())) for n in (21, 22)]
        await asyncio.sleep(0)
        for task in gone:
            task.cancel()
        await asyncio.sleep(0)
        await made.run(image(23), deadline=soon())
        await first

    assert device.batches == [[20], [23]]


async def test_a_bad_image_fails_alone():
    device = Device(seconds=0.01)
    async with batcher(device) as made:
        first = asyncio.create_task(made.run(image(1), deadline=soon()))
        await asyncio.sleep(0.005)
        values = [2, 13, 3, 4]
        answers = await asyncio.gather(*(made.run(image(v), deadline=soon()) for v in values), return_exceptions=True)
        await first
        again = await made.run(image(5), deadline=soon())

    assert [type(a) if isinstance(a, Exception) else int(a[0]) for a in answers] == [2, RequestFailed, 3, 4]
    assert int(again[0]) == 5, "the device is still used"


async def test_a_device_that_does_not_come_back_is_noticed():
    async with batcher(Device(seconds=0.2)) as made:
        task = asyncio.create_task(made.run(image(1), deadline=soon()))
        await asyncio.sleep(0.1)
        assert made.is_stuck(0.05)
        assert not made.is_stuck(5)
        await task
        assert not made.is_stuck(0.05)


async def test_at_the_end_nobody_is_left_waiting():
    made = Batcher(Device(most=1, seconds=0.05), capacity=9)
    tasks = [asyncio.create_task(made.run(image(n), deadline=soon())) for n in range(4)]
    await asyncio.sleep(0.01)
    await made.close()
    done = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 1)

    assert all(isinstance(error, Overloaded) for error in done)


async def test_listeners_hear_of_each_batch():
    sizes, waits, runs = [], [], []
    async with batcher(Device(), listeners=Listeners(waits.append, runs.append, sizes.append)) as made:
        await asyncio.gather(*(made.run(image(n + 20), deadline=soon()) for n in range(5)))

    assert sum(sizes) == 5 == len(waits)
    assert len(runs) == len(sizes)
