"""A classification from beginning to end: body, pixels, batch, labels; and the service's life around it."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpunet.batching import Batcher, Listeners
from gpunet.budget import Body, Budget
from gpunet.decoding import Decoder
from gpunet.errors import ClientGone, DeadlineExceeded, NotReady, Overloaded, RequestFailed
from gpunet.fetching import Fetcher
from gpunet.labels import labels
from gpunet.metrics import Metrics
from gpunet.model.backend import ModelInfo
from gpunet.model.loading import load
from gpunet.processors import usable_processors
from gpunet.settings import Settings

ReadBody = Callable[[Body], Awaitable[int]]
"""Fills a body with an image's bytes and returns how many labels are wanted."""

log = logging.getLogger(__name__)


class State(Enum):
    """Where the service is in its life."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"


class Prediction(NamedTuple):
    """One label of an image."""

    label: str
    probability: float
    class_id: int
    wnid: str


class Service:
    """Classifies images. To be made within a running event loop.

    Args:
        settings: all of them.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.fetcher = Fetcher(settings.fetch_rules())
        self.info: ModelInfo | None = None
        self.budget = Budget(settings.max_buffered_bytes)
        self._in_flight = 0
        self._draining = False
        self._batcher: Batcher | None = None
        self._decoder: Decoder | None = None

    @property
    def state(self) -> State:
        """Where the service is in its life."""
        if self._draining:
            return State.DRAINING
        return State.STARTING if self._batcher is None else State.READY

    @property
    def is_draining(self) -> bool:
        """Whether the service is ending."""
        return self._draining

    @property
    def is_stuck(self) -> bool:
        """Whether only a restart helps: the device does not come back from a batch."""
        return self._batcher is not None and self._batcher.is_stuck(self.settings.stuck_after)

    async def start(self) -> None:
        """Loads and warms the model; until then the service answers that it is not ready.

        Raises:
            ModelError: it cannot be served.
        """
        started = time.perf_counter()
        backend = await asyncio.to_thread(load, self.settings.model_choice())
        observe = self.metrics.stages
        listeners = Listeners(
            queued=observe.labels("queue").observe,
            ran=observe.labels("device").observe,
            size=self.metrics.batch_size.observe,
        )
        self._decoder = Decoder(
            threads=self.settings.decode_threads or usable_processors(),
            resolution=backend.info.resolution,
            limits=self.settings.limits(),
            fast=self.settings.fast_jpeg,
        )
        batcher = Batcher(
            backend,
            capacity=self.settings.queue_capacity,
            window_s=self.settings.batch_window,
            listeners=listeners,
        )
        self.info = backend.info
        self.metrics.serve(backend.info, lambda: batcher.depth)
        self.metrics.load_seconds.set(time.perf_counter() - started)
        self._batcher = batcher

    def drain(self) -> None:
        """Says from now on that it is not ready. What comes is still served."""
        self._draining = True

    async def close(self) -> None:
        """Ends everything; requests under way must be over."""
        await self.fetcher.close()
        if self._batcher is not None:
            await self._batcher.close()
        if self._decoder is not None:
            self._decoder.close()

    async def classify(self, read: ReadBody) -> list[Prediction]:
        """Classifies one image.

        Args:
            read: gets the image's bytes, from whoever sent them or where they are.

        Raises:
            RequestFailed: any of its kinds.
        """
        started = time.perf_counter()
        outcome = ClientGone.code
        try:
            with self._admitted():
                predictions = await self._classify(read)
            outcome = "ok"
            self.metrics.seconds.observe(time.perf_counter() - started)
            return predictions
        except RequestFailed as error:
            outcome = error.code
            raise
        except Exception:
            outcome = RequestFailed.code
            raise
        finally:
            self.metrics.requests.labels(outcome).inc()

    @contextmanager
    def _admitted(self) -> Generator[None]:
        if self._batcher is None:
            self.metrics.rejected.labels(NotReady.code).inc()
            raise NotReady
        if self._in_flight >= self.settings.max_requests:
            self.metrics.rejected.labels(Overloaded.code).inc()
            raise Overloaded("requests are under way")
        self._in_flight += 1
        self.metrics.in_flight.set(self._in_flight)
        try:
            yield
        finally:
            self._in_flight -= 1
            self.metrics.in_flight.set(self._in_flight)

    async def _classify(self, read: ReadBody) -> list[Prediction]:
        assert self._batcher is not None and self._decoder is not None  # noqa: PT018 both are set by `start`
        deadline = asyncio.get_running_loop().time() + self.settings.request_timeout
        try:
            async with asyncio.timeout_at(deadline):
                with self.budget.body(self.settings.max_image_bytes) as body:
                    with self.metrics.stage("fetch"):
                        count = await read(body)
                    with self.metrics.stage("decode"):
                        pixels = await self._decoder.decode(body.content())
                logits = await self._batcher.run(pixels, deadline=deadline)
        except TimeoutError as error:
            raise DeadlineExceeded from error
        with self.metrics.stage("post"):
            return most_likely(logits, count)


def most_likely(logits: NDArray[np.float32], count: int) -> list[Prediction]:
    """Returns the likeliest classes, the likeliest first.

    Args:
        logits: one value per class.
        count: how many.

    Raises:
        RequestFailed: the values are not finite.
    """
    if not np.isfinite(logits).all():
        raise RequestFailed("the model's output is not finite: half precision overflows with these weights?")
    exponentials = np.exp(logits.astype(np.float64) - logits.max())
    probabilities = exponentials / exponentials.sum()
    best: list[int] = np.argsort(-probabilities, kind="stable")[:count].tolist()
    known = labels()
    return [Prediction(known[i].name, float(probabilities[i]), i, known[i].wnid) for i in best]
