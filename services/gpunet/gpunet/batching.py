"""Gathers single images into batches for a device that runs one batch at a time.

Greedy: a batch is what has queued while the device was busy. Nobody waits for company, so one client alone is as fast
as without batches, and under load batches grow by themselves. (A window of 5 ms cost one client 40 % and gave 64
clients nothing, measured on a processor with a stub device.)
"""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpunet.errors import DeadlineExceeded, Overloaded, RequestFailed
from gpunet.model.backend import Backend

log = logging.getLogger(__name__)


@dataclass
class _Waiting:
    """One image in the queue."""

    image: NDArray[np.uint8]
    answer: "asyncio.Future[NDArray[np.float32]]"
    deadline: float
    since: float


@dataclass(frozen=True)
class Listeners:
    """Who is told what happens: durations in seconds, sizes in images."""

    queued: Callable[[float], Any] = lambda _: None
    ran: Callable[[float], Any] = lambda _: None
    size: Callable[[int], Any] = lambda _: None


class Batcher:
    """Runs images on a backend. To be made and used in one event loop.

    Args:
        backend: what computes.
        capacity: how many images may wait.
        window_s: how long to wait for more images before a batch that is not full; 0 for not at all.
        listeners: who is told.
    """

    def __init__(
        self, backend: Backend, *, capacity: int, window_s: float = 0.0, listeners: Listeners | None = None
    ) -> None:
        self._backend = backend
        self._capacity = capacity
        self._window_s = window_s
        self._listeners = listeners or Listeners()
        self._queue: deque[_Waiting] = deque()
        self._arrived = asyncio.Event()
        self._device = ThreadPoolExecutor(1, "device")
        self._running_since: float | None = None
        self._task = asyncio.create_task(self._serve(), name="batcher")

    @property
    def depth(self) -> int:
        """How many images wait, those included whose clients are gone."""
        return len(self._queue)

    def is_stuck(self, after_s: float) -> bool:
        """Tells whether the device has been at one batch for longer than that, or nobody gives it work any more."""
        since = self._running_since
        return self._task.done() or (since is not None and time.monotonic() - since > after_s)

    async def run(self, image: NDArray[np.uint8], *, deadline: float) -> NDArray[np.float32]:
        """Returns the logits of one image.

        Args:
            image: [height, width, RGB] of the backend's resolution.
            deadline: on the event loop's clock; an image that still waits then is dropped.

        Raises:
            Overloaded: the queue is full.
            DeadlineExceeded: it waited too long.
            RequestFailed: the device failed on this image.
        """
        if len(self._queue) >= self._capacity:
            self._drop_abandoned()
        if len(self._queue) >= self._capacity:
            raise Overloaded("the queue is full")
        answer: asyncio.Future[NDArray[np.float32]] = asyncio.get_running_loop().create_future()
        self._queue.append(_Waiting(image, answer, deadline, time.monotonic()))
        self._arrived.set()
        # A client that goes away cancels this, and with it the future: its image is not stacked.
        return await answer

    async def close(self) -> None:
        """Fails whatever still waits."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        for waiting in self._queue:
            _fail(waiting, Overloaded("the service ends"))
        self._queue.clear()
        self._device.shutdown(wait=False)

    async def _serve(self) -> None:
        while True:
            await self._arrived.wait()
            if self._window_s and len(self._queue) < self._backend.buckets[-1]:
                await asyncio.sleep(self._window_s)
            batch = self._next()
            if not self._queue:
                self._arrived.clear()
            if batch:
                await self._answer(batch)

    def _next(self) -> list[_Waiting]:
        """Takes the longest waiting images whose clients still wait."""
        now = asyncio.get_running_loop().time()
        batch: list[_Waiting] = []
        while self._queue and len(batch) < self._backend.buckets[-1]:
            waiting = self._queue.popleft()
            if waiting.answer.done():
                continue
            if waiting.deadline <= now:
                _fail(waiting, DeadlineExceeded("in the queue"))
                continue
            batch.append(waiting)
            self._listeners.queued(time.monotonic() - waiting.since)
        return batch

    def _drop_abandoned(self) -> None:
        self._queue = deque(waiting for waiting in self._queue if not waiting.answer.done())

    async def _answer(self, batch: Sequence[_Waiting]) -> None:
        try:
            logits = await self._on_device([waiting.image for waiting in batch])
        except asyncio.CancelledError:
            for waiting in batch:
                _fail(waiting, Overloaded("the service ends"))
            raise
        # A backend may raise anything: a driver's error, a lack of memory.
        except Exception:
            log.exception("the device failed", extra={"batch": len(batch)})
            if len(batch) == 1:
                _fail(batch[0], RequestFailed("the device failed"))
                return
            # One image, or the batch's size, may be the cause: nobody's neighbours shall suffer from it.
            for waiting in batch:
                if not waiting.answer.done():
                    await self._answer([waiting])
            return
        for waiting, row in zip(batch, logits, strict=False):
            if not waiting.answer.done():
                waiting.answer.set_result(row)

    async def _on_device(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        self._running_since = time.monotonic()
        try:
            logits = await asyncio.get_running_loop().run_in_executor(self._device, self._stack_and_run, images)
            self._listeners.ran(time.monotonic() - self._running_since)
            self._listeners.size(len(images))
            return logits
        finally:
            self._running_since = None

    def _stack_and_run(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        bucket = next(size for size in self._backend.buckets if size >= len(images))
        stacked = np.zeros((bucket, *images[0].shape), np.uint8)
        for place, image in enumerate(images):
            stacked[place] = image
        return self._backend.run(stacked)


def _fail(waiting: _Waiting, error: RequestFailed) -> None:
    if not waiting.answer.done():
        waiting.answer.set_exception(error)
