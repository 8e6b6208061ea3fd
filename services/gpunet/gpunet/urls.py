"""Which URLs may be fetched, as far as their text tells; what their hosts resolve to is judged when it is dialled."""

import re
from collections.abc import Collection

from yarl import URL

from gpunet.errors import BlockedUrl, InvalidUrl

MOST_CHARACTERS = 4096

_HOST = re.compile(r"[A-Za-z0-9_.-]{1,253}|[0-9A-Fa-f:.]{2,45}")


def check_url(text: str, *, ports: Collection[int], hosts: Collection[str] = ()) -> URL:
    """Parses a URL.

    Args:
        text: what a client sent, or where an origin redirects.
        ports: those that may be fetched from.
        hosts: names that may be fetched from, `.example.com` for a domain and all under it; none means any.

    Returns:
        The URL, without its fragment, as it will be requested: an object, so that no second parser can see another
        host in it.

    Raises:
        InvalidUrl: it is no http or https URL, or has a user name.
        BlockedUrl: its port or host is not allowed.
    """
    if len(text) > MOST_CHARACTERS or any(ord(character) <= 32 or ord(character) == 127 for character in text):
        raise InvalidUrl("too long, or with blanks")
    try:
        url = URL(text)
        host, port = url.raw_host, url.port
    except (ValueError, UnicodeError) as error:
        raise InvalidUrl(repr(error)) from error
    # A name after IDNA, or an address; a parser lets much else through, which only another parser would understand.
    if url.scheme not in ("http", "https") or not host or not _HOST.fullmatch(host) or port is None:
        raise InvalidUrl("scheme, host or port")
    if url.user is not None or url.password is not None:
        raise InvalidUrl("with a user name")
    if port not in ports:
        raise BlockedUrl(f"port {port}")
    if hosts and not any(_covers(pattern, host.rstrip(".").lower()) for pattern in hosts):
        raise BlockedUrl("host is not on the list")
    written = URL(text, encoded=True) if text.isascii() else url
    return URL.build(
        scheme=url.scheme,
        authority=f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
        # Signatures cover a query as it was written: %2F shall not become /.
        path=written.raw_path,
        query_string=written.raw_query_string,
        encoded=True,
    )


def _covers(pattern: str, host: str) -> bool:
    pattern = pattern.lower()
    return host == pattern.removeprefix(".") or (pattern.startswith(".") and host.endswith(pattern))
