"""Control access to the studio, so that only a page opened with the token can send requests.

Any web page can make a browser send requests to this machine. Four checks reject requests from
other pages. The host name must be a name of this server, which prevents DNS rebinding. If the
browser sends an origin, it must be the origin of this page. The request must contain the cookie of
this page. All requests except for files of the page must contain the token in a header, which other
pages can neither read nor send.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER = "x-dempster-token"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_REJECTED = (
    "Access denied. Open the address with the token that "
    "the studio printed when it was started."
)


class Guard:
    """Host names and token that a request must contain.

    ``host`` and ``port`` are the address of the server.
    """

    def __init__(self, host: str, port: int):
        self.host = host
        self.port = port
        self.token = secrets.token_urlsafe(24)
        # The name contains the port, because all ports of a host share cookies.
        self.cookie = f"dempster-{port}"
        self._is_wildcard = host in ("0.0.0.0", "::", "")
        self._names = {host, f"[{host}]"}
        if self._is_wildcard:
            self._names.add(socket.gethostname().lower())
        if self._is_wildcard or is_loopback(host):
            self._names.update(_LOOPBACK)

    @property
    def address(self) -> str:
        """Address of the page, with the token."""
        host = self.host
        if self._is_wildcard:
            host = "127.0.0.1"
        elif ":" in host:
            host = f"[{host}]"
        return f"http://{host}:{self.port}/?token={self.token}"

    def is_own_host(self, header: str) -> bool:
        """Return whether the Host header of a request names this server."""
        name, colon, port = header.lower().rpartition(":")
        if not colon or port != str(self.port):
            return False
        return name in self._names or (
            self._is_wildcard and _is_address(name.strip("[]"))
        )

    def is_token(self, text: str | None) -> bool:
        """Return whether a text is the token; the comparison takes constant time."""
        return text is not None and secrets.compare_digest(
            text.encode("utf-8", "replace"), self.token.encode()
        )


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached only from this machine."""
    return host == "localhost" or (
        _is_address(host) and ipaddress.ip_address(host).is_loopback
    )


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


class GuardMiddleware:
    """Reject requests that the `Guard` does not allow, and add security headers."""

    def __init__(self, app: ASGIApp, guard: Guard):
        self.app = app
        self.guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # Web sockets are rejected, because the studio does not use them.

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        status = self._rejection_status(scope)
        if status:
            await PlainTextResponse(_REJECTED, status)(
                scope, receive, send_with_headers
            )
        else:
            await self.app(scope, receive, send_with_headers)

    def _rejection_status(self, scope: Scope) -> int:
        """Return the HTTP status with which a request is rejected, or 0 if it is accepted."""
        request = HTTPConnection(scope)
        path = scope["path"]
        guard = self.guard
        headers = request.headers
        if not guard.is_own_host(headers.get("host", "")):
            return 421
        protocol, _, host = headers.get("origin", "").rpartition("://")
        if "origin" in headers and not (protocol == "http" and guard.is_own_host(host)):
            return 403
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and path != "/":
            return 403
        tokens = []
        if path == "/":
            tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        has_token = len(tokens) == 1 and guard.is_token(tokens[0])
        if not has_token and not guard.is_token(request.cookies.get(guard.cookie)):
            return 403
        if path.startswith("/api/") and not guard.is_token(headers.get(TOKEN_HEADER)):
            return 403
        return 0
