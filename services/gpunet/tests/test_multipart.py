"""Forms, honest and otherwise."""

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpunet.errors import InvalidRequest
from gpunet.multipart import read_form

TYPE = "multipart/form-data; boundary=line"


def form(*parts):
    """Returns the bytes of a form: (headers, content) of each part."""
    lines = b"".join(b"--line\r\n" + head + b"\r\n\r\n" + content + b"\r\n" for head, content in parts)
    return lines + b"--line--\r\n"


def disposition(name, rest=b""):
    return b'Content-Disposition: form-data; name="' + name + b'"' + rest


def test_files_and_fields_are_found_by_name():
    content = b"\x00\r\n--lin\r\n\xff" * 3
    data = form(
        (disposition(b"image", b'; filename="a.png"\r\nContent-Type: image/png'), content),
        (disposition(b"top_k"), b"3"),
    )

    assert read_form(data, TYPE) == {"image": content, "top_k": b"3"}


def test_a_quoted_boundary_is_read():
    assert read_form(form((disposition(b"a"), b"1")), 'multipart/form-data; boundary="line"') == {"a": b"1"}


def test_of_two_parts_with_one_name_the_first_counts():
    assert read_form(form((disposition(b"a"), b"1"), (disposition(b"a"), b"2")), TYPE) == {"a": b"1"}


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", TYPE), (b"--line", TYPE), (b"--line\r\nno end", TYPE), (form((disposition(b"a"), b"1"))[:-6], TYPE),
        (form((disposition(b"a"), b"1")), "multipart/form-data"),
        (form((disposition(b"a"), b"1")), "multipart/form-data; boundary="),
        (form((disposition(b"a"), b"1")), "multipart/form-data; boundary=" + "x" * 71),
        (form(*[(disposition(b"a"), b"1")] * 17), TYPE), (form((b"X: " + b"y" * 5000, b"1")), TYPE),
    ],
)  # fmt: skip
def test_what_is_no_form_is_an_invalid_request(data, kind):
    with pytest.raises(InvalidRequest):
        read_form(data, kind)


@given(st.binary(max_size=300), st.text(max_size=60))
def test_any_bytes_are_a_form_or_invalid(data, boundary):
    for kind in (TYPE, f"multipart/form-data; boundary={boundary}"):
        with contextlib.suppress(InvalidRequest):
            read_form(b"--line\r\n" + data + b"\r\n--line--", kind)


@pytest.mark.parametrize("filling", [b"\r\n--lin", b"\r\n", b"-", b"\r\n--line", b"\r\n\r\n"])
def test_no_filling_makes_it_slow(filling):
    data = form((disposition(b"image"), filling * (10 * 2**20 // len(filling))))
    started = time.monotonic()
    with contextlib.suppress(InvalidRequest):
        read_form(data, TYPE)
    assert time.monotonic() - started < 1
