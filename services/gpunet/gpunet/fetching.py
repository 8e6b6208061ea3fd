"""Fetches images from addresses that strangers name, without becoming their way into the network.

Each address is judged at the moment it is dialled, after names were resolved and whatever spelling it had, so there is
no gap between check and use in which DNS could change its answer.
"""

import asyncio
import socket
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from yarl import URL

from gpunet.addresses import AddressRules
from gpunet.budget import Body
from gpunet.errors import BlockedUrl, InvalidUrl, OriginFailed, OriginTimeout
from gpunet.urls import check_url

MOST_REDIRECTS = 3
_CHUNK = 64 * 2**10
_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True)
class FetchRules:
    """What may be fetched, and how long it may take."""

    addresses: AddressRules = field(default_factory=AddressRules)
    ports: Collection[int] = (80, 443)
    hosts: Collection[str] = ()
    connect_s: float = 2.0
    total_s: float = 5.0


class Blocked(OSError):
    """An address that may not be dialled; the connector takes it for a failed attempt and tries the next one."""

    def __init__(self) -> None:
        # One text for all: where all attempts fail alike, the connector raises the first of them, this very error.
        super().__init__("address is not allowed")


class Fetcher:
    """An HTTP client with a connection pool. To be made within a running event loop, and closed there.

    Args:
        rules: what may be fetched.
    """

    def __init__(self, rules: FetchRules) -> None:
        self._rules = rules
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=10, socket_factory=self._socket),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "gpunet", "Accept": "image/*", "Accept-Encoding": "identity"},
            timeout=aiohttp.ClientTimeout(total=rules.total_s, sock_connect=rules.connect_s),
            auto_decompress=False,
            # Proxies and .netrc of the environment are for whoever runs the service, not for strangers.
            trust_env=False,
        )

    async def fetch(self, url: str, body: Body) -> None:
        """Appends what is at a URL to a body.

        Raises:
            InvalidUrl: it is none.
            BlockedUrl: it, or what it resolves or redirects to, may not be fetched.
            ImageTooLarge, Overloaded: the body takes no more.
            OriginFailed: the server cannot be reached or answers with something else than 200.
            OriginTimeout: it takes too long.
        """
        try:
            async with asyncio.timeout(self._rules.total_s):
                await self._follow(url, body)
        except TimeoutError as error:
            raise OriginTimeout from error
        except aiohttp.ClientConnectorError as error:
            raise (BlockedUrl if isinstance(error.__cause__, Blocked) else OriginFailed)(repr(error)) from error
        except aiohttp.InvalidURL as error:
            raise InvalidUrl from error
        # aiohttp lets through what its parsers and the system raise for odd answers and addresses.
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise OriginFailed(repr(error)) from error

    async def close(self) -> None:
        """Closes all connections."""
        await self._session.close()

    async def _follow(self, text: str, body: Body) -> None:
        for _ in range(MOST_REDIRECTS + 1):
            url = check_url(text, ports=self._rules.ports, hosts=self._rules.hosts)
            # By hand: the client's own redirects would skip the check of port and host.
            async with self._session.get(url, allow_redirects=False) as response:
                if response.status in _REDIRECTS and (location := response.headers.get("Location")):
                    text = _joined(url, location)
                    continue
                if response.status != 200:
                    raise OriginFailed(f"answered {response.status}")
                body.announce(response.headers.get("Content-Length"))
                async for chunk in response.content.iter_chunked(_CHUNK):
                    body.append(chunk)
                return
        raise OriginFailed(f"more than {MOST_REDIRECTS} redirects")

    def _socket(self, info: Any) -> socket.socket:
        family, kind, protocol, _, address = info
        if not self._rules.addresses.permit(str(address[0])):
            raise Blocked
        made = socket.socket(family, kind, protocol)
        made.setblocking(False)
        return made


def _joined(base: URL, location: str) -> str:
    try:
        return str(base.join(URL(location, encoded=location.isascii())))
    except ValueError as error:
        raise OriginFailed("redirects to no URL") from error
