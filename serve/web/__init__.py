"""The web page at `/`: plain HTML, CSS and JavaScript modules, read once, with headers that let nothing else in.

What the page shows is written by strangers: every text goes in as text, and the policy below would refuse a script or a
style that came in any other way.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request, Response

ASSETS = Path(__file__).parent / "assets"
PAGE = "index.html"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # Asked about each time, answered with 304: a new version of the page is never mixed with an old one.
    "Cache-Control": "no-cache",
}


@dataclass(frozen=True, slots=True)
class _Asset:
    body: bytes
    media_type: str
    etag: str


def router() -> APIRouter:
    """Routes of the page: `/` and `/assets/NAME`. They need no token; what the page asks for does.

    Raises:
        FileNotFoundError: The package was installed without its page.
    """
    assets = _read(ASSETS)
    page = assets[PAGE]
    routes = APIRouter(include_in_schema=False)

    @routes.api_route("/", methods=["GET", "HEAD"])
    def index(request: Request) -> Response:
        """The page."""
        return _answer(request, page)

    @routes.api_route("/assets/{name}", methods=["GET", "HEAD"])
    def asset(request: Request, name: str) -> Response:
        """One of its files; a name is looked up, never opened."""
        if name not in assets:
            raise HTTPException(status_code=404)
        return _answer(request, assets[name])

    return routes


def _read(folder: Path) -> dict[str, _Asset]:
    found = {}
    for path in sorted(folder.iterdir()):
        if path.suffix in TYPES:
            body = path.read_bytes()
            found[path.name] = _Asset(body, TYPES[path.suffix], f'"{hashlib.sha256(body).hexdigest()[:32]}"')
    if PAGE not in found:
        raise FileNotFoundError(folder / PAGE)
    return found


def _answer(request: Request, asset: _Asset) -> Response:
    headers = {**HEADERS, "ETag": asset.etag}
    if request.headers.get("if-none-match") == asset.etag:
        return Response(status_code=304, headers=headers)
    return Response(asset.body, headers=headers, media_type=asset.media_type)
