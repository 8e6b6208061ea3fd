"""The bodies of requests and answers, as the OpenAPI document shows them."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gpunet.errors import REASONS, RequestFailed
from gpunet.urls import MOST_CHARACTERS

DEFAULT_LABELS, MOST_LABELS = 5, 1000


class SourcePrediction(BaseModel):
    """A label, as the source's service gives it."""

    label: str
    probability: float = Field(ge=0, le=1)


class SourcePredictions(BaseModel):
    """The five likeliest labels."""

    predictions: list[SourcePrediction]


class LabelledClass(SourcePrediction):
    """A label and what it stands for."""

    class_id: int = Field(ge=0, lt=MOST_LABELS)
    wnid: str = Field(pattern="^n[0-9]{8}$", description="WordNet id of the class")


class Classification(BaseModel):
    """The likeliest labels, the likeliest first."""

    predictions: list[LabelledClass]
    model: str
    request_id: str


class ClassifyBody(BaseModel):
    """An image by its URL, or its bytes in base64; one of the two."""

    model_config = ConfigDict(extra="forbid")

    image_url: str | None = Field(None, min_length=1, max_length=MOST_CHARACTERS)
    image_b64: str | None = Field(None, min_length=1)
    top_k: int = Field(DEFAULT_LABELS, ge=1, le=MOST_LABELS, strict=True)

    @model_validator(mode="after")
    def _has_one_image(self) -> "ClassifyBody":
        if (self.image_url is None) == (self.image_b64 is None):
            raise ValueError("either image_url or image_b64")
        return self


class ErrorBody(BaseModel):
    """What went wrong. `detail` is for people, `code` for programs; `request_id` finds it in the log."""

    detail: str
    code: str
    request_id: str


class Hello(BaseModel):
    """What the source's service answers at its root."""

    status: str = "hello"


class Health(BaseModel):
    """Where the service is in its life."""

    status: str


class Version(BaseModel):
    """The service and the model that it serves."""

    model_config = ConfigDict(from_attributes=True)

    service: str
    name: str
    version: str
    sha256: str
    weights: str
    provider: str
    precision: str
    resolution: int


def error_responses(*reasons: type[RequestFailed]) -> dict[int | str, dict[str, Any]]:
    """Returns what OpenAPI shall say about the ways in which a route fails; all of them, when none is named."""
    by_status: dict[int | str, dict[str, Any]] = {}
    for reason in reasons or REASONS:
        said = by_status.setdefault(reason.status, {"model": ErrorBody, "description": ""})
        said["description"] += f"{' ' if said['description'] else ''}`{reason.code}`: {reason.message}"
        if reason.retry_after is not None:
            said["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "seconds"}}
    return by_status
