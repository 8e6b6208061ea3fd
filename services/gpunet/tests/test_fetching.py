"""Fetching from origins that are slow, large, broken, or a way into the network."""

import asyncio
import shutil
import socket
import ssl
import subprocess
import time
from ipaddress import ip_network

import pytest

from gpunet.addresses import AddressRules
from gpunet.budget import Budget
from gpunet.errors import BlockedUrl, ImageTooLarge, InvalidUrl, OriginFailed, OriginTimeout, Overloaded
from gpunet.fetching import Fetcher, FetchRules

LOOPBACK = AddressRules(allowed=[ip_network("127.0.0.1/32")])
MOST = 64 * 1024


@pytest.fixture
async def fetch(origin):
    """Fetches from the local origin, which alone is allowed."""
    fetcher = Fetcher(FetchRules(LOOPBACK, ports=(origin.port,), connect_s=0.5, total_s=1.0))
    budget = Budget(10 * MOST)

    async def run(url, most=MOST):
        with budget.body(most) as body:
            await fetcher.fetch(url, body)
            return body.content()

    yield run
    await fetcher.close()


@pytest.fixture
async def strict():
    """Fetches as in production, but with the port of the origin allowed too."""
    made = []

    async def run(url, port):
        fetcher = Fetcher(FetchRules(ports=(80, 443, port), connect_s=0.5, total_s=1.0))
        made.append(fetcher)
        with Budget(MOST).body(MOST) as body:
            await fetcher.fetch(url, body)

    yield run
    for fetcher in made:
        await fetcher.close()


async def test_an_image_is_fetched_whole(fetch, origin):
    origin.put("/big.bin", b"ab" * 20_000)

    assert await fetch(origin.url("/big.bin")) == b"ab" * 20_000


async def test_nothing_of_the_environment_is_sent_along(fetch, origin, monkeypatch, tmp_path):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    await fetch(origin.url())
    _, head = origin.asked[0]

    assert b"authorization" not in head.lower()
    assert b"cookie" not in head.lower()


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::]", "127.0.0.2", "127.1", "0x7f.1", "0x7f000001",
        "0177.0.0.1", "2130706433", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "LOCALHOST.",
        "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "\u2460\u2461\u2466.0.0.1", "127\u30020\u30020\u30021",
        "[fe80::1%25lo]",
    ],
)  # fmt: skip
async def test_no_spelling_of_this_machine_is_dialled(strict, origin, host):
    with pytest.raises((BlockedUrl, InvalidUrl, OriginFailed)):
        await strict(f"http://{host}:{origin.port}/image.png", origin.port)
    assert not origin.asked, "no byte may reach it"


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "169.254.170.23", "[fd00:ec2::254]", "10.0.0.1", "[::ffff:169.254.169.254]"]
)
async def test_metadata_and_private_addresses_are_blocked_before_any_packet(strict, host):
    started = time.monotonic()
    with pytest.raises(BlockedUrl):
        await strict(f"http://{host}/latest/meta-data/", 80)
    assert time.monotonic() - started < 0.4, "a packet would have waited for its answer"


@pytest.mark.parametrize(
    "target", ["http://169.254.169.254/x", "http://[::ffff:169.254.169.254]/x", "http://10.0.0.1/"]
)
async def test_a_redirect_into_the_network_is_blocked(origin, target):
    fetcher = Fetcher(FetchRules(LOOPBACK, ports=(80, origin.port), total_s=1.0))
    origin.put("/r", b"", 302, [f"Location: {target}"])
    with Budget(MOST).body(MOST) as body, pytest.raises(BlockedUrl):
        await fetcher.fetch(origin.url("/r"), body)
    await fetcher.close()


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("http://127.0.0.1:22/", BlockedUrl), ("file:///etc/passwd", InvalidUrl), ("http://u:p@127.0.0.1/", InvalidUrl),
        ("//[bad/", (InvalidUrl, OriginFailed)), ("gopher://127.0.0.1/", InvalidUrl), ("/r", OriginFailed),
    ],
)  # fmt: skip
async def test_a_redirect_is_judged_as_a_url_of_its_own(fetch, origin, target, error):
    origin.put("/r", b"", 302, [f"Location: {target}"])
    with pytest.raises(error):
        await fetch(origin.url("/r"))


async def test_a_few_redirects_are_followed(fetch, origin):
    origin.put("/1", b"", 301, ["Location: /2"])
    origin.put("/2", b"", 308, [f"Location: {origin.url('/image.png')}"])

    assert (await fetch(origin.url("/1"))).startswith(b"\x89PNG")


async def test_a_name_that_changes_its_address_between_check_and_use_gains_nothing(origin, monkeypatch):
    """DNS rebinding: the first answer is public, each later one is this machine."""
    asked = []
    real = asyncio.get_running_loop().getaddrinfo

    async def resolve(host, port, **options):
        if host != "rebind.example":
            return await real(host, port, **options)
        asked.append(host)
        address = "192.0.2.1" if len(asked) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    fetcher = Fetcher(FetchRules(ports=(origin.port,), connect_s=0.3, total_s=0.6))
    for _ in range(3):
        with Budget(MOST).body(MOST) as body, pytest.raises((BlockedUrl, OriginFailed, OriginTimeout)):
            await fetcher.fetch(origin.url(host="rebind.example"), body)
        fetcher._session.connector.clear_dns_cache()
    await fetcher.close()

    assert len(asked) >= 2
    assert not origin.asked


async def test_of_a_name_with_public_and_private_addresses_only_public_ones_are_dialled(origin, monkeypatch):
    async def resolve(host, port, **_):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, port)) for a in ("127.0.0.1", "10.0.0.1")]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    fetcher = Fetcher(FetchRules(ports=(origin.port,), total_s=1.0))
    with Budget(MOST).body(MOST) as body, pytest.raises(BlockedUrl):
        await fetcher.fetch(origin.url(host="two.example"), body)
    await fetcher.close()
    assert not origin.asked


async def test_too_many_bytes_are_refused_by_their_announcement(fetch, origin):
    origin.put("/big", b"x" * (MOST + 1))
    with pytest.raises(ImageTooLarge):
        await fetch(origin.url("/big"))


async def test_too_many_bytes_are_refused_while_they_stream(fetch, origin):
    sent = 0

    async def endless(writer):
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
            await writer.drain()
            sent += 0x4000

    origin.put("/endless", endless)
    with pytest.raises(ImageTooLarge):
        await fetch(origin.url("/endless"))
    assert sent < 20 * 2**20, "the transfer ends soon after the limit, apart from what sockets buffer"


async def test_endless_headers_end(fetch, origin):
    async def endless(writer):
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"X-Header: " + b"y" * 1000 + b"\r\n")
            await writer.drain()

    origin.put("/headers", endless)
    with pytest.raises((OriginFailed, OriginTimeout)):
        await fetch(origin.url("/headers"))


async def test_a_trickle_ends_at_the_time_limit(fetch, origin):
    async def trickle(writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.05)

    origin.put("/trickle", trickle)
    started = time.monotonic()
    with pytest.raises(OriginTimeout):
        await fetch(origin.url("/trickle"))
    assert time.monotonic() - started < 2


async def test_a_chain_of_slow_redirects_shares_one_time_limit(fetch, origin):
    for n in range(4):
        origin.put(f"/{n}", b"", 302, [f"Location: /{n + 1}"], delay=0.4)
    started = time.monotonic()
    with pytest.raises(OriginTimeout):
        await fetch(origin.url("/0"))
    assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    "answer",
    [b"", b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
     b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort",
     b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"HTTP/9.9 999 \xff\r\n\r\n", b"\x00" * 100],
)  # fmt: skip
async def test_broken_answers_are_the_origins_failure(fetch, origin, answer):
    async def broken(writer):
        writer.write(answer)
        await writer.drain()

    origin.put("/broken", broken)
    with pytest.raises((OriginFailed, OriginTimeout)):
        await fetch(origin.url("/broken"))


@pytest.mark.parametrize("status", [204, 206, 304, 400, 404, 500])
async def test_only_200_is_an_image(fetch, origin, status):
    origin.put("/s", b"" if status in (204, 304) else b"x", status)
    with pytest.raises(OriginFailed):
        await fetch(origin.url("/s"))


async def test_a_closed_port_is_the_origins_failure(fetch, origin):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    fetcher = Fetcher(FetchRules(LOOPBACK, ports=(port,), total_s=1))
    with Budget(MOST).body(MOST) as body, pytest.raises(OriginFailed):
        await fetcher.fetch(f"http://127.0.0.1:{port}/", body)
    await fetcher.close()


async def test_an_origin_without_tls_is_the_origins_failure(fetch, origin):
    async def plain(reader, writer):
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    fetcher = Fetcher(FetchRules(LOOPBACK, ports=(port := server.sockets[0].getsockname()[1],)))
    with Budget(MOST).body(MOST) as body, pytest.raises(OriginFailed):
        await fetcher.fetch(f"https://127.0.0.1:{port}/", body)
    await fetcher.close()
    server.close()


@pytest.mark.skipif(not shutil.which("openssl"), reason="makes a certificate with openssl, which is not here")
async def test_an_origin_whose_certificate_nobody_signed_is_the_origins_failure(tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-days", "2"]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0, ssl=context)
    fetcher = Fetcher(FetchRules(LOOPBACK, ports=(port := server.sockets[0].getsockname()[1],)))
    with Budget(MOST).body(MOST) as body, pytest.raises(OriginFailed, match="Certificate"):
        await fetcher.fetch(f"https://127.0.0.1:{port}/", body)
    await fetcher.close()
    server.close()


def test_all_bodies_share_one_budget():
    budget = Budget(100)
    with budget.body(80) as first:
        first.append(b"x" * 80)
        with budget.body(80) as second, pytest.raises(Overloaded):
            second.append(b"x" * 21)
    with budget.body(80) as third:
        third.append(b"x" * 80)
        assert third.content() == b"x" * 80
        with pytest.raises(ImageTooLarge):
            third.append(b"x")
