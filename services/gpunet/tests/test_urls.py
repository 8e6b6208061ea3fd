"""What the text of a URL must be like."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpunet.errors import BlockedUrl, InvalidUrl
from gpunet.urls import check_url

PORTS = (80, 443)


@pytest.mark.parametrize(
    "url",
    [
        "", "image.jpg", "//example.com/x", "ftp://example.com/x", "file:///etc/passwd", "gopher://example.com/",
        "data:image/png;base64,AAAA", "javascript:alert(1)", "http://", "http:///x", "http://?x", "http://:80/",
        "http://user@example.com/", "http://user:pw@example.com/", "http://:pw@example.com/",
        "http://example.com/a b", "http://example.com/\r\nHost: x", "http://example.com\t/", "http://exa\x00mple.com/",
        "http://example.com:99999/", "http://example.com:x/", "http://[::1", "http://[not-an-address]/",
        "http://example.com/" + "a" * 5000,
    ],
)  # fmt: skip
def test_what_is_no_plain_url_is_invalid(url):
    with pytest.raises(InvalidUrl):
        check_url(url, ports=PORTS)


@pytest.mark.parametrize("port", [0, 22, 25, 6379, 8080, 10250])
def test_other_ports_are_blocked(port):
    with pytest.raises((BlockedUrl, InvalidUrl)):
        check_url(f"http://example.com:{port}/", ports=PORTS)


def test_default_ports_and_named_ones_pass():
    for url in ("http://example.com/x", "https://example.com/x", "HTTPS://EXAMPLE.com:443", "http://example.com:80/"):
        assert check_url(url, ports=PORTS).host == "example.com"


def test_the_fragment_is_dropped_and_the_query_kept():
    assert str(check_url("http://example.com/a%2fb?b=%2F%20+#c", ports=PORTS)) == "http://example.com/a%2fb?b=%2F%20+"


def test_a_list_of_hosts_lets_only_them_pass():
    hosts = ("images.example.com", ".cdn.example.org")
    for host in ("images.example.com", "IMAGES.example.com.", "a.cdn.example.org", "cdn.example.org"):
        check_url(f"https://{host}/x", ports=PORTS, hosts=hosts)
    for host in ("example.com", "evil-images.example.com", "notcdn.example.org", "cdn.example.org.evil.com"):
        with pytest.raises(BlockedUrl):
            check_url(f"https://{host}/x", ports=PORTS, hosts=hosts)


@given(
    st.one_of(
        st.text(), st.text().map("http://{}".format), st.text(":/@[].%0123456789abcdefx\\?#").map("http://{}".format)
    )
)
def test_any_text_is_judged_without_surprises(text):
    try:
        url = check_url(text, ports=PORTS)
    except (InvalidUrl, BlockedUrl):
        return
    assert url.scheme in ("http", "https")
    assert url.host
    assert url.port in PORTS
    assert url.user is None
    assert check_url(str(url), ports=PORTS) == url, "said once more it is the same"
