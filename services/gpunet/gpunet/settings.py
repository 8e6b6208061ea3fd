"""The service's settings, from the environment: frozen, checked, all errors at once.

The names of the source's service (MODEL_PATH, S3_BUCKET_NAME) are kept; all others begin with GPUNET_. None of them is
of the form GPUNET_PORT or GPUNET_SERVICE_...: Kubernetes sets such variables itself for a Service named `gpunet`.
"""

from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from gpunet.addresses import AddressRules
from gpunet.decoding import Limits
from gpunet.fetching import FetchRules
from gpunet.model.loading import ModelChoice
from gpunet.model.source import S3Object
from gpunet.processors import usable_processors


def _split(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


# In the environment: 10.0.0.0/16,2600:1f18::/56
_Networks = Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode, BeforeValidator(_split)]
_Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
_Ports = Annotated[tuple[int, ...], NoDecode, BeforeValidator(_split)]


class Settings(BaseSettings):
    """Everything that can be set. Durations in seconds, sizes in bytes."""

    model_config = SettingsConfigDict(env_prefix="GPUNET_", frozen=True, extra="forbid", populate_by_name=True)

    # The model
    model_path: Path | None = Field(default=None, validation_alias="MODEL_PATH")
    """A .onnx (by `gpunet convert`), .safetensors or .pth file; where it does not exist, S3 is read."""
    model_sha256: str | None = Field(default=None, validation_alias="MODEL_SHA256", pattern=r"^[0-9a-fA-F]{64}$")
    s3_bucket_name: str | None = Field(default=None, validation_alias="S3_BUCKET_NAME")
    s3_key: str = Field(default="gpunet-0.pth", validation_alias="S3_KEY")
    s3_version_id: str | None = Field(default=None, validation_alias="S3_VERSION_ID")
    random_weights: bool = False
    """Serves seeded random weights instead of a model: to try the service, its labels mean nothing."""
    weights: Literal["auto", "ema", "raw"] = "auto"
    """Which of a training checkpoint's sets; `auto` prefers the moving average."""
    resolution: int = Field(default=320, ge=64, le=1024)
    """Of a model that is not a graph yet. Accuracy is published for 320 only."""
    precision: Literal["fp32", "fp16"] = "fp32"
    """Of a model that is not a graph yet."""

    # What computes
    backend: Literal["onnxruntime", "stub"] = "onnxruntime"
    device: Literal["cpu", "cuda"] = "cpu"
    device_threads: int = Field(default=0, ge=0)
    """Of the CPU provider; 0 is half of the processors, the other half decodes images."""
    max_batch: int = Field(default=0, ge=0, le=256)
    """0 is 4 on a CPU, where batches gain little, and 32 on a GPU."""
    batch_window: float = Field(default=0.0, ge=0, le=1)
    stub_batch_ms: float = Field(default=2.0, ge=0)
    stub_image_ms: float = Field(default=0.2, ge=0)

    # Limits
    queue_capacity: int = Field(default=128, ge=1)
    """Images that wait for the device."""
    max_requests: int = Field(default=256, ge=1)
    """Classifications that are under way, from the first byte on."""
    max_image_bytes: int = Field(default=10 * 2**20, ge=1024)
    max_buffered_bytes: int = Field(default=256 * 2**20, ge=2**20)
    """Bodies that are held at once, all together."""
    max_pixels: int = Field(default=32_000_000, ge=1024)
    fast_jpeg: bool = False
    """Decodes large JPEGs with less detail, in half of the time or less; pixels are off by 0.7 of 255 on average."""
    decode_threads: int = Field(default=0, ge=0)
    """0 is one per processor."""
    request_timeout: float = Field(default=15.0, gt=0)
    """From the first byte to the answer."""
    body_timeout: float = Field(default=10.0, gt=0)
    """Until a request's body has come."""
    header_timeout: float = Field(default=10.0, gt=0)
    """Until a new connection's first request has come."""

    # Fetching
    fetch_timeout: float = Field(default=5.0, gt=0)
    fetch_connect_timeout: float = Field(default=2.0, gt=0)
    fetch_denied_networks: _Networks = ()
    """Public networks that are refused: the VPC's IPv6 range, other networks of yours."""
    fetch_allowed_networks: _Networks = ()
    """Private networks that may be fetched from; for tests, and image stores within the VPC."""
    fetch_hosts: _Names = ()
    """Hosts that may be fetched from, `.example.com` with all under it; none means any."""
    fetch_ports: _Ports = (80, 443)

    # Lifecycle
    host: str = "0.0.0.0"
    listen_port: int = Field(default=8080, ge=0, le=65535)
    drain_delay: float = Field(default=2.0, ge=0)
    """After SIGTERM, how long new requests are still served while /readyz says no: balancers need to notice."""
    shutdown_timeout: float = Field(default=20.0, gt=0)
    """After that, how long running requests may take."""
    stuck_after: float = Field(default=60.0, gt=0)
    """For how long one batch may run before /livez says no."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    @model_validator(mode="after")
    def _names_one_model(self) -> Self:
        if self.random_weights and (self.model_path or self.s3_bucket_name):
            raise ValueError(
                "GPUNET_RANDOM_WEIGHTS is set beside MODEL_PATH or S3_BUCKET_NAME: random weights would be served "
                "although there is a model. Unset one of them"
            )
        return self

    def model_choice(self) -> ModelChoice:
        """What to load."""
        s3_object = None
        if self.s3_bucket_name:
            s3_object = S3Object(self.s3_bucket_name, self.s3_key, self.s3_version_id)
        return ModelChoice(
            backend=self.backend,
            path=self.model_path,
            s3_object=s3_object,
            sha256=self.model_sha256,
            random_weights=self.random_weights,
            weights=self.weights,
            precision=self.precision,
            resolution=self.resolution,
            device=self.device,
            threads=self.device_threads or max(1, usable_processors() // 2),
            most_batch=self.max_batch or (32 if self.device == "cuda" or self.backend == "stub" else 4),
            stub_batch_ms=self.stub_batch_ms,
            stub_image_ms=self.stub_image_ms,
        )

    def fetch_rules(self) -> FetchRules:
        """What may be fetched."""
        return FetchRules(
            AddressRules(self.fetch_denied_networks, self.fetch_allowed_networks),
            self.fetch_ports,
            self.fetch_hosts,
            connect_s=self.fetch_connect_timeout,
            total_s=self.fetch_timeout,
        )

    def limits(self) -> Limits:
        """What an image may cost."""
        return Limits(pixels=self.max_pixels)
