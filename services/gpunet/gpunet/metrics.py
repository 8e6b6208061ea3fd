"""What is measured, for Prometheus. One registry per service, so that two in one process do not mix."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from gpunet.model.backend import ModelInfo

Stage = Literal["fetch", "decode", "queue", "device", "post"]

# Around a decoded image (10 ms) and a fetched one (50 ms), up to the default time limit.
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """All metrics.

    The autoscaler's rate is made of `inference_requests_total`, refused requests included: they are demand too.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "inference_requests_total", "Classifications by outcome: ok, or an error code", ["outcome"],
            registry=self.registry,
        )  # fmt: skip
        self.seconds = Histogram(
            "inference_request_seconds", "Classifications that succeeded, from first byte to answer",
            registry=self.registry, buckets=_SECONDS,
        )  # fmt: skip
        self.stages = Histogram(
            "inference_stage_seconds", "Parts of a classification; device is per batch", ["stage"],
            registry=self.registry, buckets=_SECONDS,
        )  # fmt: skip
        self.batch_size = Histogram(
            "inference_batch_size", "Images that the device got at once, padding apart",
            registry=self.registry, buckets=_SIZES,
        )  # fmt: skip
        self.rejected = Counter(
            "inference_rejected_total", "Classifications that were refused before work began", ["reason"],
            registry=self.registry,
        )  # fmt: skip
        self.in_flight = Gauge("inference_in_flight", "Classifications under way", registry=self.registry)
        self.load_seconds = Gauge("model_load_seconds", "From start to warm", registry=self.registry)
        self._queue_depth = Gauge("inference_queue_depth", "Images that wait for the device", registry=self.registry)
        self._model = Gauge(
            "model_info", "The model that is served", list(ModelInfo.__dataclass_fields__), registry=self.registry
        )
        # An autoscaler's rate needs the series to exist before the first request.
        self.requests.labels("ok")

    def serve(self, info: ModelInfo, queue_depth: Callable[[], float]) -> None:
        """Takes note of the model and of where the queue's depth is read."""
        self._model.labels(**{name: str(value) for name, value in vars(info).items()}).set(1)
        self._queue_depth.set_function(queue_depth)

    @contextmanager
    def stage(self, name: Stage) -> Generator[None]:
        """Times a part of a classification, whether it succeeds or not."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.stages.labels(name).observe(time.perf_counter() - started)

    def text(self) -> bytes:
        """Returns all values as Prometheus reads them."""
        return generate_latest(self.registry)
