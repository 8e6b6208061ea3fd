"""Asks a running service, with nothing but the standard library."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any


class AskFailed(Exception):
    """There is no answer with labels; the text says why."""


def ask(server: str, image: str, count: int = 5, *, timeout_s: float = 30) -> dict[str, Any]:
    """Asks for an image's labels.

    Args:
        server: the service's URL.
        image: a file's path, or a URL that the service fetches.
        count: how many labels.
        timeout_s: how long to wait.

    Returns:
        The service's answer.

    Raises:
        AskFailed: no such file, no such address, no service, or the service refused.
    """
    if image.startswith(("http://", "https://")):
        body, kind = json.dumps({"image_url": image, "top_k": count}).encode(), "application/json"
    elif "://" in image:
        raise AskFailed(f"{image} is neither a file nor an address that the service fetches: http:// or https://")
    else:
        try:
            body, kind = Path(image).read_bytes(), "application/octet-stream"
        except OSError as error:
            raise AskFailed(f"{image} cannot be read: {error.strerror}") from error
    url = f"{server.rstrip('/')}/v1/classify?top_k={count}"
    request = urllib.request.Request(url, body, {"Content-Type": kind})
    try:
        # A local service is not behind the environment's proxy.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=timeout_s) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise AskFailed(f"{server} refused {image}: {_detail(error)}") from error
    except (OSError, ValueError) as error:
        hint = "`gpunet serve` starts a service there"
        raise AskFailed(f"{server} does not answer ({_reason(error)}). {hint}") from error


def _reason(error: Exception) -> str:
    cause: object = getattr(error, "reason", error)
    return str(getattr(cause, "strerror", None) or cause)


def _detail(error: urllib.error.HTTPError) -> str:
    try:
        said = json.load(error)
        return f"{said['detail']} ({error.code}, {said['code']}, request {said['request_id']})"
    except (ValueError, KeyError, TypeError):
        return f"status {error.code}"
