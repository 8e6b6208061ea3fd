"""Drives a headless Chromium over its DevTools protocol, with nothing but aiohttp."""

import asyncio
import base64
import contextlib
import shutil
import tempfile
from pathlib import Path

import aiohttp

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Page:
    """One tab."""

    def __init__(self, socket):
        self._socket = socket
        self._count = 0
        self.complaints = []

    async def call(self, method, **parameters):
        """Runs a command of the protocol and returns its result; keeps what the console says meanwhile."""
        self._count += 1
        await self._socket.send_json({"id": self._count, "method": method, "params": parameters})
        while True:
            said = await self._socket.receive_json(timeout=20)
            if said.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown"):
                self.complaints.append(said["params"])
            if said.get("id") == self._count:
                assert "error" not in said, said
                return said["result"]

    async def run(self, script):
        """Returns what a script's promise gives."""
        said = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    async def until(self, condition):
        """Waits for a script to become true."""
        for _ in range(200):
            if await self.run(condition):
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"never true: {condition}")

    async def open(self, url, *, width=1200, dark=False):
        """Shows a page in a window of that width."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500
        )
        await self.call("Page.navigate", url=url)
        await self.until("document.readyState === 'complete' && !!document.querySelector('h1')")

    async def picture(self):
        """Returns what it looks like, as a PNG."""
        return base64.b64decode((await self.call("Page.captureScreenshot"))["data"])


@contextlib.asynccontextmanager
async def browser():
    """A browser with one empty page."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
        process = await asyncio.create_subprocess_exec(
            CHROMIUM, *options, "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank",
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            told = Path(profile) / "DevToolsActivePort"
            for _ in range(300):
                if told.exists() and told.read_text().count("\n"):
                    break
                await asyncio.sleep(0.05)
            port = told.read_text().split("\n")[0]
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                    tab = next(found for found in await answer.json() if found["type"] == "page")
                async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                    page = Page(socket)
                    for domain in ("Page", "Runtime", "Log"):
                        await page.call(f"{domain}.enable")
                    yield page
        finally:
            process.terminate()
            await process.wait()
