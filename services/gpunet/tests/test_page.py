"""The page in a real browser: an image dropped on it shows labels and bars, on wide and narrow screens."""

import base64
import os
from pathlib import Path

import pytest
from browser import CHROMIUM, browser
from conftest import picture, running, settings_for

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (`apt-get install chromium`)"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

DROP = """
(() => {{
  const bytes = Uint8Array.from(atob("{image}"), (c) => c.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], "a.png", {{ type: "image/png" }}));
  document.getElementById("drop").dispatchEvent(
    new DragEvent("drop", {{ dataTransfer: transfer, bubbles: true, cancelable: true }}));
}})()
"""
SUBMIT = """
(() => {{
  document.getElementById("url").value = "{url}";
  document.getElementById("form").requestSubmit();
}})()
"""
LABELS = "[...document.querySelectorAll('#labels b')].map((e) => e.textContent)"
SHOWN = "[...document.querySelectorAll('img, [hidden]')].filter((e) => e.offsetParent).map((e) => e.outerHTML)"
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


def drop(image):
    return DROP.format(image=base64.b64encode(image).decode())


async def test_a_dropped_image_shows_labels_and_bars_at_every_width_and_scheme():
    shots = os.environ.get("GPUNET_SCREENSHOTS")
    async with running(settings_for()) as (client, _), browser() as page:
        for width, dark in ((1280, False), (1280, True), (390, False), (390, True)):
            await page.open(str(client._base_url), width=width, dark=dark)
            assert await page.run(SHOWN) == [], "before an image is chosen there is nothing to show of it"
            await page.run(drop(picture(526, (640, 480))))
            await page.until("document.querySelectorAll('#labels meter').length === 5")
            await page.until("document.getElementById('preview').naturalWidth > 0")
            assert (await page.run(LABELS))[0] == "desk"
            bars = await page.run("[...document.querySelectorAll('meter')].map((e) => e.value)")
            assert bars == sorted(bars, reverse=True)
            assert await page.run(FITS), f"nothing may stick out at {width} px"
            if shots:
                name = f"page-{width}-{'dark' if dark else 'light'}.png"
                (Path(shots) / name).write_bytes(await page.picture())
        assert await page.run("!document.getElementById('random').hidden"), "the stub says it is no model"
        assert not page.complaints, "the page's own policy lets it do all this"


async def test_an_address_is_classified_and_a_refusal_is_told(origin):
    origin.put("/a.png", picture(620))
    async with running(settings_for(origin)) as (client, _), browser() as page:
        await page.open(str(client._base_url))
        await page.run(SUBMIT.format(url=origin.url("/a.png")))
        await page.until("document.querySelectorAll('#labels meter').length === 5")
        assert (await page.run(LABELS))[0] == "laptop"

        await page.run(SUBMIT.format(url="http://169.254.169.254/latest"))
        await page.until("document.getElementById('state').className === 'alarm'")
        said = await page.run("document.getElementById('state').textContent")
        assert "does not fetch from this address" in said
        assert "blocked_url, request " in said
        assert await page.run(LABELS) == []

        await page.run(drop(b"no image"))
        await page.until("document.getElementById('state').textContent.includes('unsupported_media')")
        await page.until("document.getElementById('preview').hidden")
