"""What every answer has in common: a request id, one form of errors, a line in the log."""

import logging
import time
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpunet.errors import InvalidRequest, RequestFailed
from gpunet.logs import REQUEST_ID, TRACE_ID, request_id_of, trace_id_of
from gpunet.service import Service, State

_QUIET = frozenset({"/livez", "/readyz", "/startupz", "/metrics"})

log = logging.getLogger("gpunet.access")


class Envelope:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        request_id = request_id_of(headers.get(b"x-request-id", b"").decode("latin-1"))
        REQUEST_ID.set(request_id)
        TRACE_ID.set(trace_id_of(headers.get(b"traceparent", b"").decode("latin-1")))
        started, status = time.perf_counter(), 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"].append((b"x-request-id", request_id.encode()))
                if self._service.state is State.DRAINING:
                    # Clients shall open their next connection to somebody else.
                    message["headers"].append((b"connection", b"close"))
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        # A bug: the traceback goes to the log, the client learns nothing but the request's id.
        except Exception:
            log.exception("unexpected error")
            if status == 0:
                await _answer_to(RequestFailed)(scope, receive, send_with_id)
        finally:
            path = scope["path"]
            log.log(
                logging.DEBUG if path in _QUIET else logging.INFO,
                "request",
                extra={
                    "method": scope["method"],
                    "path": path[:256],
                    "status": status,
                    "milliseconds": round(1000 * (time.perf_counter() - started), 1),
                },
            )


def install_errors(app: FastAPI) -> None:
    """Gives all errors one form; nothing that a library or the request said is in it."""

    @app.exception_handler(RequestFailed)
    async def failed(_: Request, error: RequestFailed) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        if error.status >= 500 or error.__cause__ is not None:
            log.info("refused", extra={"code": error.code, "cause": str(error)[:500]})
        return _answer_to(type(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, __: RequestValidationError) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        return _answer_to(InvalidRequest)

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        codes = {404: "not_found", 405: "method_not_allowed"}
        code = codes.get(error.status_code, "http_error")
        return _answer(error.status_code, code, str(error.detail), error.headers or {})


def _answer_to(reason: type[RequestFailed]) -> JSONResponse:
    headers = {} if reason.retry_after is None else {"Retry-After": str(reason.retry_after)}
    return _answer(reason.status, reason.code, reason.message, headers)


def _answer(status: int, code: str, detail: str, headers: Mapping[str, str]) -> JSONResponse:
    content = {"detail": detail, "code": code, "request_id": REQUEST_ID.get()}
    return JSONResponse(content, status, dict(headers))
