"""From the bytes of an image to the pixels that the network sees, bounded in bytes, pixels and time.

The geometry is that of the network's training and evaluation: bicubic resize of the shorter side, then the centre.
Orientation tags are ignored, as in training.
"""

import asyncio
import io
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from gpunet.errors import ImageTooLarge, UndecodableImage, UnsupportedMedia

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP")
"""What is looked for. Pillow knows about forty more, many old and rarely tested: a file cannot choose one of them."""

MOST_SCANS = 100
"""Of a JPEG. Cameras and encoders write 1 to 14; each costs a pass over the whole image, whatever its length."""

MOST_ELONGATED = 4
"""Images that are longer than so many times their width are cut first and scaled then: a strip of 1 x 30,000 pixels,
scaled whole, would have a thousand times the pixels that are kept. Both ways agree within two grey levels, but where
neighbours are black and white: curves overshoot there, and what is cut off depends on which axis comes first."""

LARGE_PIXELS = 8_000_000
"""Images over it are decoded one at a time: Pillow holds four bytes a pixel, twice while it converts."""

# libjpeg can drop detail while it decodes. Down to this multiple of the final size that moves a pixel by 0.7 of 255 on
# average and by 5 at most (1/f noise of 4000 x 3000); at 1 it would be 2.9 and 20.
_DRAFT_FACTOR = 2

warnings.filterwarnings("error", category=Image.DecompressionBombWarning)


@dataclass(frozen=True)
class Limits:
    """What an image may cost."""

    pixels: int = 32_000_000


def open_image(data: bytes, limits: Limits) -> Image.Image:
    """Reads an image's header and nothing else.

    Raises:
        UnsupportedMedia: it begins like none of the formats.
        ImageTooLarge: it announces more pixels than allowed, or more scans than honest ones have.
        UndecodableImage: its header is damaged.
    """
    try:
        image = Image.open(io.BytesIO(data), formats=FORMATS)
    except UnidentifiedImageError as error:
        raise UnsupportedMedia from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning, MemoryError) as error:
        raise ImageTooLarge from error
    # Pillow's readers raise what their parsing happens to raise.
    except Exception as error:
        raise UndecodableImage(repr(error)) from error
    if image.width * image.height > limits.pixels:
        raise ImageTooLarge(f"{image.width} x {image.height}")
    if image.width == 0 or image.height == 0:
        raise UndecodableImage("no pixels")
    # Compressed data never contains this marker by chance: a 0xff in it is followed by 0x00.
    if image.format in ("JPEG", "MPO") and data.count(b"\xff\xda") > MOST_SCANS:
        raise ImageTooLarge(f"more than {MOST_SCANS} scans")
    return image


def to_pixels(image: Image.Image, resolution: int, *, fast: bool = False) -> NDArray[np.uint8]:
    """Decodes the first frame, and cuts and scales it.

    Args:
        image: one whose header was read.
        resolution: height and width of the result.
        fast: whether large JPEGs may be decoded with less detail, which takes half to a tenth of the time. Without it,
            every pixel is within one grey level of scaling the whole image and cutting it then.

    Returns:
        uint8 [resolution, resolution, RGB].

    Raises:
        UndecodableImage: it is damaged or cut short.
        ImageTooLarge: memory does not suffice.
    """
    try:
        factor = resolution * _DRAFT_FACTOR / min(image.size)
        if fast and factor < 1:
            # For formats other than JPEG it does nothing.
            image.draft("RGB", (round(image.width * factor), round(image.height * factor)))
        # A conversion copies even when there is nothing to convert: a tenth of the time for a JPEG.
        colours = image if image.mode == "RGB" else image.convert("RGB")
        return np.asarray(_scaled_and_cut(colours, resolution))
    except MemoryError as error:
        raise ImageTooLarge from error
    # See above: struct.error, SyntaxError, ValueError and others come from damaged files.
    except Exception as error:
        raise UndecodableImage(repr(error)) from error


def _scaled_and_cut(image: Image.Image, resolution: int) -> Image.Image:
    width, height = scaled = _scaled_size(image.width, image.height, resolution)
    bicubic = Image.Resampling.BICUBIC
    # To cut first spares the work for what is cut off. For upright images it would change the order in which Pillow
    # takes the axes, and for wide ones the rounding: not by much, and yet not what training saw.
    is_usual = image.height <= image.width <= 2 * image.height
    if is_usual or max(scaled) > MOST_ELONGATED * resolution:
        box = window(image.width, image.height, resolution)
        return image.resize((resolution, resolution), bicubic, box=box)
    left, top = _corner(width, height, resolution)
    return image.resize(scaled, bicubic).crop((left, top, left + resolution, top + resolution))


def window(width: int, height: int, resolution: int) -> tuple[float, float, float, float]:
    """Where in the source the result comes from: left, top, right, bottom, in pixels of the source.

    Cutting is done on whole pixels of the scaled image, so the window is theirs, mapped back; the centre of the source
    is up to half a scaled pixel beside it, which would show as five grey levels.
    """
    scaled = _scaled_size(width, height, resolution)
    left, top = _corner(*scaled, resolution)
    across, down = width / scaled[0], height / scaled[1]
    return (
        left * across,
        top * down,
        min(width, (left + resolution) * across),
        min(height, (top + resolution) * down),
    )


def _scaled_size(width: int, height: int, resolution: int) -> tuple[int, int]:
    shorter = min(width, height)
    return int(resolution * width / shorter), int(resolution * height / shorter)


def _corner(width: int, height: int, resolution: int) -> tuple[int, int]:
    return round((width - resolution) / 2), round((height - resolution) / 2)


class Decoder:
    """Decodes in threads: Pillow lets go of Python's lock while it works.

    Args:
        threads: how many images at a time.
        resolution: of the result.
        limits: what an image may cost.
        fast: see `to_pixels`.
    """

    def __init__(self, *, threads: int, resolution: int, limits: Limits, fast: bool = False) -> None:
        self._pool = ThreadPoolExecutor(threads, "decode")
        self._limits = limits
        self._to_pixels = partial(to_pixels, resolution=resolution, fast=fast)
        self._large = asyncio.Semaphore(1)

    async def decode(self, data: bytes) -> NDArray[np.uint8]:
        """Returns the pixels of an image.

        Raises:
            UnsupportedMedia, ImageTooLarge, UndecodableImage: see `open_image` and `to_pixels`.
        """
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._pool, self._decode_unless_large, data)
        if isinstance(found, np.ndarray):
            return found
        async with self._large:
            return await loop.run_in_executor(self._pool, self._to_pixels, found)

    def _decode_unless_large(self, data: bytes) -> NDArray[np.uint8] | Image.Image:
        image = open_image(data, self._limits)
        return image if image.width * image.height > LARGE_PIXELS else self._to_pixels(image)

    def close(self) -> None:
        """Lets running work end and starts no more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
