"""From bytes to pixels: the geometry of training, and files that want more than they should get."""

import asyncio
import contextlib
import io
import struct
import threading
import time
import zlib

import numpy as np
import pytest
from conftest import noise, picture
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from gpunet import decoding
from gpunet.decoding import MOST_SCANS, Decoder, Limits, open_image, to_pixels, window
from gpunet.errors import ImageTooLarge, RequestFailed, UndecodableImage, UnsupportedMedia

LIMITS = Limits()


def decoded(data, resolution=320, **options):
    return to_pixels(open_image(data, LIMITS), resolution, **options)


def resized_and_cropped(data, resolution=320):
    """What training and evaluation do: the whole image first, then the centre."""
    image = Image.open(io.BytesIO(data)).convert("RGB")
    shorter = min(image.size)
    size = tuple(int(resolution * side / shorter) for side in image.size)
    left, top = (round((side - resolution) / 2) for side in size)
    whole = image.resize(size, Image.Resampling.BICUBIC)
    return np.asarray(whole.crop((left, top, left + resolution, top + resolution)))


def png(width, height, rows=b"", colour=2):
    """A PNG that announces a size, whatever its data holds."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "size", [(640, 480), (480, 640), (321, 320), (320, 320), (1000, 333), (333, 1001), (50, 40), (1, 1), (1999, 1501)]
)
def test_pixels_are_those_of_resize_and_crop(size):
    data = noise(size, "PNG")
    difference = np.abs(decoded(data).astype(int) - resized_and_cropped(data))

    assert difference.max() <= 1
    assert difference.mean() < 0.01


@pytest.mark.parametrize("size", [(30, 700), (2000, 50), (330, 1500)])
def test_long_strips_are_cut_first_and_come_out_the_same(size):
    grey = Image.fromarray(np.random.default_rng(2).integers(64, 192, (size[1], size[0], 3), np.uint8))
    data = io.BytesIO()
    grey.save(data, "PNG")
    difference = np.abs(decoded(data.getvalue()).astype(int) - resized_and_cropped(data.getvalue()))

    assert difference.max() <= 2, "rounded twice, in another order"


def test_a_strip_of_one_pixel_costs_no_more_than_another_image():
    started = time.monotonic()
    decoded(picture(9, (1, 60_000)))
    assert time.monotonic() - started < 1


@given(st.integers(1, 5000), st.integers(1, 5000), st.sampled_from([224, 320]))
def test_the_window_lies_within_the_image_and_keeps_its_shape(width, height, resolution):
    left, top, right, bottom = window(width, height, resolution)

    assert 0 <= left < right <= width
    assert 0 <= top < bottom <= height
    # Whole pixels of the scaled image: off a square by less than one of them.
    assert abs((right - left) - (bottom - top)) <= max(width, height) / resolution


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_every_kind_of_png_becomes_rgb(mode):
    data = io.BytesIO()
    (Image.new("I;16", (40, 30)) if mode == "I;16" else Image.new("RGB", (40, 30), "teal").convert(mode)).save(
        data, "PNG"
    )

    assert decoded(data.getvalue()).shape == (320, 320, 3)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "BMP"])
def test_every_format_is_decoded(kind):
    pixels = decoded(picture(5, (100, 80), kind))

    assert pixels.dtype == np.uint8
    assert abs(int(pixels[0, 0, 0]) - 5) < 8


@pytest.mark.parametrize("kind", ["TIFF", "ICO", "PPM", "TGA", "PDF", "EPS", "SGI", "PCX"])
def test_formats_that_nobody_needs_are_not_even_looked_at(kind):
    data = io.BytesIO()
    Image.new("RGB", (32, 32)).save(data, kind)
    with pytest.raises(UnsupportedMedia):
        decoded(data.getvalue())


def test_cmyk_jpegs_and_orientation_tags_are_taken_as_in_training():
    data = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    image = Image.new("RGB", (64, 64), "black")
    image.paste("white", (0, 0, 64, 32))
    image.save(data, "JPEG", exif=exif)
    assert decoded(data.getvalue())[0].mean() > 200, "not turned"

    data = io.BytesIO()
    image.convert("CMYK").save(data, "JPEG")
    assert decoded(data.getvalue()).shape == (320, 320, 3)


def test_of_an_animation_the_first_frame_counts():
    data = io.BytesIO()
    frames = [Image.new("RGB", (40, 40), colour) for colour in ("red", "blue", "green")]
    frames[0].save(data, "GIF", save_all=True, append_images=frames[1:])

    assert decoded(data.getvalue())[0, 0].tolist() == [255, 0, 0]


def test_fast_decoding_stays_near():
    """A smooth image: what it drops is detail finer than the network sees."""
    ramp = np.linspace(0, 255, 3000)[None, :, None] * np.linspace(0.2, 1, 2400)[:, None, None] * np.ones(3)
    data = io.BytesIO()
    Image.fromarray(ramp.astype(np.uint8)).save(data, "JPEG", quality=95)
    exact, fast = decoded(data.getvalue()), decoded(data.getvalue(), fast=True)

    assert np.abs(exact.astype(int) - fast).max() <= 3


@pytest.mark.parametrize("size", [(40_000, 40_000), (32_001, 1000), (2**31 - 1, 1), (6000, 6000)])
def test_too_many_pixels_are_refused_before_any_is_decoded(size):
    started = time.monotonic()
    with pytest.raises(ImageTooLarge):
        decoded(png(*size))
    assert time.monotonic() - started < 0.5


def test_a_bomb_of_zeros_is_refused():
    data = png(30_000, 30_000, b"\x00" * 10_000_000)

    assert len(data) < 20_000
    with pytest.raises(ImageTooLarge):
        decoded(data)


def test_a_webp_that_announces_the_largest_canvas_is_refused():
    canvas = (16383).to_bytes(3, "little") * 2
    body = b"VP8X" + struct.pack("<I", 10) + b"\x02\x00\x00\x00" + canvas + b"ANIM" + struct.pack("<IIH", 6, 0, 0)
    frame = picture(3, (8, 8), "WEBP")[12:]
    body += b"ANMF" + struct.pack("<I", 16 + len(frame)) + bytes(6) + b"\x07\x00\x00\x07\x00\x00" + bytes(4) + frame
    with pytest.raises((ImageTooLarge, UndecodableImage, UnsupportedMedia)):
        decoded(b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WEBP" + body)


def test_a_jpeg_with_thousands_of_scans_is_refused():
    """Each of ten bytes, and each a pass over the whole image: hours of work in a small file."""
    data = noise((640, 480), progressive=True)
    last = data.rindex(b"\xff\xda")
    scan = data[last:-2]
    assert data.count(b"\xff\xda") <= MOST_SCANS, "an honest one has about ten"
    decoded(data)

    with pytest.raises(ImageTooLarge):
        decoded(data[:-2] + scan[:64] * (MOST_SCANS + 1) + data[-2:])


def test_a_png_with_a_bomb_in_its_text_is_refused_or_ignored():
    text = b"Comment\x00\x00" + zlib.compress(b"\x00" * 50_000_000, 9)
    good = picture()
    bomb = struct.pack(">I", len(text)) + b"zTXt" + text + struct.pack(">I", zlib.crc32(b"zTXt" + text))
    with contextlib.suppress(RequestFailed):
        decoded(good[:33] + bomb + good[33:])


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF"])
def test_a_file_that_is_cut_short_is_undecodable(kind):
    data = noise((200, 150), kind)
    for share in (0.5, 0.9):
        with pytest.raises(UndecodableImage):
            decoded(data[: int(len(data) * share)])


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"%PDF-1.7", b"\xff", b"\x00" * 4096]
)
def test_what_is_no_image_is_unsupported(data):
    with pytest.raises(UnsupportedMedia):
        decoded(data)


async def test_many_threads_decode_and_large_images_one_by_one(monkeypatch):
    running, most = 0, 0
    lock = threading.Lock()
    real = decoding.to_pixels

    def counted(image, resolution, *, fast):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        pixels = real(image, resolution, fast=fast)
        with lock:
            running -= 1
        return pixels

    monkeypatch.setattr(decoding, "to_pixels", counted)
    monkeypatch.setattr(decoding, "LARGE_PIXELS", 5000)
    decoder = Decoder(threads=4, resolution=64, limits=LIMITS)
    await asyncio.gather(*(decoder.decode(picture(size=(100, 100))) for _ in range(4)))
    assert most == 1
    await asyncio.gather(*(decoder.decode(picture(size=(50, 50))) for _ in range(8)))
    assert most > 1
    decoder.close()
