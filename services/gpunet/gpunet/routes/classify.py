"""The two ways to classify: `/predict`, as the source's service has it, and `/v1/classify`."""

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.requests import ClientDisconnect

from gpunet.budget import Body
from gpunet.errors import ClientGone
from gpunet.logs import REQUEST_ID
from gpunet.routes.bodies import Incoming, read_image
from gpunet.routes.schemas import (
    DEFAULT_LABELS,
    MOST_LABELS,
    Classification,
    ClassifyBody,
    LabelledClass,
    SourcePrediction,
    SourcePredictions,
    error_responses,
)
from gpunet.service import Prediction, Service
from gpunet.urls import MOST_CHARACTERS

_BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
_BODIES: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {"schema": ClassifyBody.model_json_schema()},
        "image/*": _BINARY,
        "application/octet-stream": _BINARY,
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["image"],
                "properties": {
                    "image": {"type": "string", "format": "binary"},
                    "top_k": {"type": "integer", "minimum": 1, "maximum": MOST_LABELS, "default": DEFAULT_LABELS},
                },
            }
        },
    },
}
_TOP_K: dict[str, Any] = {
    "name": "top_k",
    "in": "query",
    "description": "How many labels, where the body does not say it.",
    "schema": {"type": "integer", "minimum": 1, "maximum": MOST_LABELS, "default": DEFAULT_LABELS},
}


def classify_routes(service: Service) -> APIRouter:
    """Makes the routes."""
    router = APIRouter(tags=["classify"])

    @router.post("/predict", responses=error_responses())
    async def predict(
        request: Request, image_url: Annotated[str, Query(min_length=1, max_length=MOST_CHARACTERS)]
    ) -> SourcePredictions:
        """Classifies the image at a URL."""

        incoming = Incoming(request, service.settings.body_timeout)
        incoming.skip()

        async def read(body: Body) -> int:
            await service.fetcher.fetch(image_url, body)
            return DEFAULT_LABELS

        predictions = await _unless_gone(incoming, service.classify(read))
        return SourcePredictions(
            predictions=[SourcePrediction(label=found.label, probability=found.probability) for found in predictions]
        )

    @router.post(
        "/v1/classify",
        responses=error_responses(),
        openapi_extra={"requestBody": _BODIES, "parameters": [_TOP_K]},
    )
    async def classify(request: Request) -> Classification:
        """Classifies an image: by URL or base64 in JSON, as the body itself, or as a form's file `image`."""

        incoming = Incoming(request, service.settings.body_timeout)

        async def read(body: Body) -> int:
            return await read_image(incoming, body, service.budget, service.fetcher)

        predictions = await _unless_gone(incoming, service.classify(read))
        return Classification(
            predictions=[LabelledClass(**found._asdict()) for found in predictions],
            model=service.info.name if service.info else "",
            request_id=REQUEST_ID.get(),
        )

    return router


async def _unless_gone(incoming: Incoming, work: Coroutine[Any, Any, list[Prediction]]) -> list[Prediction]:
    """Does the work, and stops when the client goes away: nobody waits for the answer.

    Raises:
        ClientGone: it went away.
    """
    working = asyncio.create_task(work)
    watching = asyncio.create_task(incoming.gone())
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGone
        return working.result()
    except ClientDisconnect as error:
        raise ClientGone from error
    finally:
        working.cancel()
        watching.cancel()
