"""The root: a greeting for programs, as in the source's service, and a page for browsers."""

import base64
import hashlib
import re
from importlib.resources import files

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from gpunet.routes.schemas import Hello


def page_routes() -> APIRouter:
    """Makes the route."""
    router = APIRouter(tags=["page"])
    html = files("gpunet").joinpath("page.html").read_text("utf-8")
    headers = {
        "Vary": "Accept",
        "Content-Security-Policy": _policy(html),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }

    @router.get("/", response_model=Hello, responses={200: {"content": {"text/html": {}}}})
    async def hello(request: Request) -> Response:
        """A greeting; whoever prefers `text/html` gets a page to try the service on."""
        if prefers_html(request.headers.get("accept", "")):
            return HTMLResponse(html, headers=headers)
        return JSONResponse({"status": "hello"}, headers={"Vary": "Accept"})

    return router


def prefers_html(accept: str) -> bool:
    """Tells whether an Accept header names `text/html` with more weight than it gives JSON."""
    weights: dict[str, float] = {}
    for part in accept.lower().split(",")[:32]:
        kind, *parameters = (piece.strip() for piece in part.split(";"))
        given = next((piece[2:] for piece in parameters if piece.startswith("q=")), "1")
        weights[kind] = float(given) if re.fullmatch(r"[01](\.\d{0,3})?", given) else 0.0
    html = weights.get("text/html", 0.0)
    # Browsers end their list with */* of a lower weight; a program that says */* alone gets JSON.
    return html > 0 and html > weights.get("application/json", 0.0)


def _policy(html: str) -> str:
    """Lets the page's own script and style run and nothing else, and lets it talk to this service only."""
    script, style = (
        base64.b64encode(hashlib.sha256(re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.S)[0].encode()).digest()).decode()
        for tag in ("script", "style")
    )
    return (
        f"default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; connect-src 'self'; "
        "img-src blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
