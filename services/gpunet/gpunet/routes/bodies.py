"""From a request's body to an image's bytes, in the four forms in which one can be sent."""

import asyncio
import base64
import contextlib

from pydantic import ValidationError
from starlette.requests import ClientDisconnect, Request

from gpunet.budget import Body, Budget
from gpunet.errors import InvalidRequest, RequestFailed, RequestTimeout, UnsupportedMedia
from gpunet.fetching import Fetcher
from gpunet.multipart import read_form
from gpunet.routes.schemas import DEFAULT_LABELS, MOST_LABELS, ClassifyBody

# What surrounds an image in JSON or a form.
_ENVELOPE_BYTES = 16 * 2**10
_LINGER_S = 1.0


class Incoming:
    """A request's body, and after it the end of its connection.

    Args:
        request: one whose body was not read.
        timeout_s: how long the body may take.
    """

    def __init__(self, request: Request, timeout_s: float) -> None:
        self.request = request
        self._timeout_s = timeout_s
        self._was_read = asyncio.Event()

    async def read(self, body: Body) -> None:
        """Appends the request's body.

        Raises:
            ImageTooLarge, Overloaded: `body` takes no more.
            RequestTimeout: the client is too slow.
        """
        try:
            body.announce(self.request.headers.get("content-length"))
            async with asyncio.timeout(self._timeout_s):
                async for chunk in self.request.stream():
                    body.append(chunk)
        except TimeoutError as error:
            raise RequestTimeout from error
        except RequestFailed:
            await self._linger()
            raise
        self._was_read.set()

    def skip(self) -> None:
        """Says that nobody wants the body."""
        self._was_read.set()

    async def gone(self) -> None:
        """Returns when the client has closed the connection; waits until the body was read."""
        await self._was_read.wait()
        while (await self.request.receive())["type"] != "http.disconnect":
            pass

    async def _linger(self) -> None:
        # Closed with unread bytes, a connection would drop the answer too: the client may go on for a moment.
        # A stream that has ended cannot be begun again.
        with contextlib.suppress(TimeoutError, ClientDisconnect, RuntimeError):
            async with asyncio.timeout(_LINGER_S):
                async for _ in self.request.stream():
                    pass


async def read_image(incoming: Incoming, body: Body, budget: Budget, fetcher: Fetcher) -> int:
    """Fills `body` with the image that a request holds or names.

    Args:
        incoming: the request.
        body: what is filled.
        budget: what an envelope around the image counts against.
        fetcher: for an image that is named.

    Returns:
        How many labels are wanted.

    Raises:
        RequestFailed: any of its kinds.
    """
    content_type = incoming.request.headers.get("content-type", "")
    kind = content_type.partition(";")[0].strip().lower()
    count = _top_k(incoming.request.query_params.get("top_k"))
    if kind.startswith("image/") or kind == "application/octet-stream":
        await incoming.read(body)
        return count
    if kind == "application/json":
        with budget.body(body.most * 4 // 3 + _ENVELOPE_BYTES) as envelope:
            await incoming.read(envelope)
            # In a thread it would hold Python's lock all the same: 2 ms a megabyte.
            given, image = _parsed(envelope.content())
        if image is not None:
            body.append(image)
        else:
            await fetcher.fetch(given.image_url or "", body)
        return given.top_k if "top_k" in given.model_fields_set else count
    if kind == "multipart/form-data":
        with budget.body(body.most + _ENVELOPE_BYTES) as envelope:
            await incoming.read(envelope)
            form = read_form(envelope.content(), content_type)
        if "image" not in form:
            raise InvalidRequest("a form has a file named image")
        body.append(form["image"])
        return _top_k(form["top_k"].decode("ascii", "replace")) if "top_k" in form else count
    raise UnsupportedMedia(f"content type {kind[:80]!r}")


def _parsed(data: bytes) -> tuple[ClassifyBody, bytes | None]:
    try:
        given = ClassifyBody.model_validate_json(data)
        image = None if given.image_b64 is None else base64.b64decode(given.image_b64, validate=True)
    # Of what is not base64, binascii's error is a ValueError too.
    except (ValidationError, ValueError) as error:
        raise InvalidRequest("JSON or base64") from error
    return given, image


def _top_k(text: str | None) -> int:
    if text is None:
        return DEFAULT_LABELS
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:5]) <= MOST_LABELS):
        raise InvalidRequest("top_k")
    return int(text)
