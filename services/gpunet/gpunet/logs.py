"""Logs as JSON lines, each with the id of the request that it belongs to.

URLs' queries are never logged: a presigned one is a credential.
"""

import json
import logging
import re
import secrets
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
TRACE_ID: ContextVar[str] = ContextVar("trace_id", default="")

_PLAIN = re.compile(r"[A-Za-z0-9._=:/-]{1,128}")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


def request_id_of(given: str | None) -> str:
    """Returns the id that a client or balancer gave, or a new one where there is none or it is not a plain word."""
    return given if given and _PLAIN.fullmatch(given) else secrets.token_hex(8)


def trace_id_of(traceparent: str | None) -> str:
    """Returns the trace id of a W3C `traceparent`, or nothing."""
    match = _TRACEPARENT.fullmatch(traceparent or "")
    return match[1] if match else ""


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON; what is passed as `extra` becomes fields."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name, variable in (("request_id", REQUEST_ID), ("trace_id", TRACE_ID)):
            if variable.get():
                entry[name] = variable.get()
        entry |= {name: value for name, value in vars(record).items() if name not in _OWN}
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


def configure(level: str) -> None:
    """Sends all logs to standard error, uvicorn's too; its access log is replaced by ours."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in ("uvicorn", "uvicorn.error"):
        logging.getLogger(name).handlers.clear()
    logging.getLogger("uvicorn.access").disabled = True
