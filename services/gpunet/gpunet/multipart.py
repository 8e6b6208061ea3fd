"""Reads a form of files and fields, `multipart/form-data`, whose bytes are in memory.

It cuts at the boundary with one `split`, which no body can make slow, and keeps nothing on a disk.
"""

import email.policy
from email.message import EmailMessage
from email.parser import BytesHeaderParser

from gpunet.errors import InvalidRequest

MOST_PARTS = 16
_MOST_HEADER_BYTES = 4096


def read_form(data: bytes, content_type: str) -> dict[str, bytes]:
    """Returns the parts by their names; of two with one name, the first.

    Args:
        data: the whole body.
        content_type: the request's header, with the boundary.

    Raises:
        InvalidRequest: it is no such form, or has more than `MOST_PARTS` parts.
    """
    try:
        head = EmailMessage(email.policy.HTTP)
        head["content-type"] = content_type
        boundary = str(head.get_boundary("")).encode("ascii")
    # The parser of headers raises what its many small parsers raise.
    except Exception as error:
        raise InvalidRequest("content type") from error
    if not 1 <= len(boundary) <= 70:
        raise InvalidRequest("a form needs a boundary of 1 to 70 characters")
    _, *parts = (b"\r\n" + data).split(b"\r\n--" + boundary, MOST_PARTS + 1)
    if not parts or not parts[-1].startswith(b"--"):
        raise InvalidRequest("a form is incomplete or has too many parts")
    form: dict[str, bytes] = {}
    for part in parts[:-1]:
        headers, separator, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        if not separator or len(headers) > _MOST_HEADER_BYTES:
            raise InvalidRequest("a part of a form has no end of its headers")
        form.setdefault(_name(headers), content)
    return form


def _name(headers: bytes) -> str:
    try:
        message = BytesHeaderParser(policy=email.policy.compat32).parsebytes(headers + b"\r\n\r\n")
        return str(message.get_param("name", "", "content-disposition"))
    except Exception as error:
        raise InvalidRequest("headers of a part") from error
