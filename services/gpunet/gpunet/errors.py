"""Why a request gets no labels: each reason with its HTTP status, a code for programs and a text for people.

The texts are fixed. What a library or an origin said goes to the log only: told to a client, it would show what lies
behind the service (which ports of the network answer, which files exist).
"""

from typing import ClassVar


class RequestFailed(Exception):
    """The root of the tree."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    message: ClassVar[str] = "Something is wrong with the service; the request id finds it in the log."
    retry_after: ClassVar[int | None] = None
    """Seconds after which another try makes sense."""

    def __init__(self, cause: str = "") -> None:
        """
        Args:
            cause: for the log.
        """
        super().__init__(cause or self.message)


class InvalidRequest(RequestFailed):
    status = 400
    code = "invalid_request"
    message = "The request's parameters or body do not have the documented form."


class InvalidUrl(RequestFailed):
    status = 400
    code = "invalid_url"
    message = "Not a URL that can be fetched: http or https, a host, and no user name in it."


class BlockedUrl(RequestFailed):
    status = 403
    code = "blocked_url"
    message = "The service does not fetch from this address, host or port."


class RequestTimeout(RequestFailed):
    status = 408
    code = "request_timeout"
    message = "The request's body came too slowly."


class ImageTooLarge(RequestFailed):
    status = 413
    code = "image_too_large"
    message = "The image has too many bytes or pixels."


class UnsupportedMedia(RequestFailed):
    status = 415
    code = "unsupported_media"
    message = "Not an image in a supported format (JPEG, PNG, WebP, GIF, BMP), or an unsupported content type."


class UndecodableImage(RequestFailed):
    status = 422
    code = "undecodable_image"
    message = "The image is damaged or incomplete."


class ClientGone(RequestFailed):
    """Nobody gets this answer; it is for the log and the metrics."""

    status = 499
    code = "client_gone"
    message = "The client closed the connection."


class OriginFailed(RequestFailed):
    status = 502
    code = "origin_failed"
    message = "The image's server could not be reached or did not answer with an image."


class Overloaded(RequestFailed):
    status = 503
    code = "overloaded"
    message = "Too many requests are waiting."
    retry_after = 1


class NotReady(RequestFailed):
    status = 503
    code = "not_ready"
    message = "The model is still being loaded."
    retry_after = 5


class OriginTimeout(RequestFailed):
    status = 504
    code = "origin_timeout"
    message = "The image's server answered too slowly."


class DeadlineExceeded(RequestFailed):
    status = 504
    code = "deadline_exceeded"
    message = "The request took too long."
    retry_after = 1


REASONS: tuple[type[RequestFailed], ...] = (
    InvalidRequest, InvalidUrl, BlockedUrl, RequestTimeout, ImageTooLarge, UnsupportedMedia, UndecodableImage,
    OriginFailed, Overloaded, NotReady, OriginTimeout, DeadlineExceeded, RequestFailed,
)  # fmt: skip
"""All that a client can get, by status."""
