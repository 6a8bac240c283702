"""Who may talk to the studio: the page that was opened with the token, on this machine, and nobody else.

A page of a stranger can make a browser send requests to this machine. Four things keep it out: the name of the host
must be one of ours (a stranger's name that was made to point here is not), the origin, where a browser tells it, must
be this page, a cookie that only this page's browser has must come along, and whatever is not a part of the page itself
must carry the token in a header, which no other page can know or send.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER = "x-dempster-token"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_CLOSED = "This is not the address of the studio: open the one that was printed when it was started, with its token."


class Guard:
    """What is let in: names of this host, and the token.

    Parameters
    ----------
    host : str
        Address that the studio listens on.
    port : int
    token : str, optional
        Drawn at random by default.
    """

    def __init__(self, host: str, port: int, token: str | None = None):
        self.host, self.port = host, port
        self.token = secrets.token_urlsafe(24) if token is None else token
        self.cookie = f"dempster-{port}"  # browsers keep one jar for all ports of a host
        self._anywhere = host in ("0.0.0.0", "::", "")
        names = {*_LOOPBACK, host, f"[{host}]", socket.gethostname().lower()} if self._anywhere else {host, f"[{host}]"}
        self._names = {*names, *(_LOOPBACK if is_loopback(host) else ())}

    @property
    def address(self) -> str:
        """The address to open, token included."""
        host = "127.0.0.1" if self._anywhere else f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/?token={self.token}"

    def knows_host(self, header: str) -> bool:
        """Whether a request was meant for this server: a stranger's name that points here is refused."""
        name, colon, port = header.lower().rpartition(":")
        if not colon or port != str(self.port):
            return False
        return name in self._names or (self._anywhere and _is_address(name.strip("[]")))

    def knows_origin(self, header: str) -> bool:
        """Whether a page that sends a request is this one."""
        return header.startswith("http://") and self.knows_host(header.removeprefix("http://"))

    def is_token(self, text: str | None) -> bool:
        """Compared in a time that tells nothing."""
        return text is not None and secrets.compare_digest(text.encode("utf-8", "replace"), self.token.encode())


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


class Gate:
    """Asks `Guard` of every request before anything else sees it, and puts the headers of safety on every answer."""

    def __init__(self, app: ASGIApp, guard: Guard):
        self.app, self.guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # nothing here speaks by sockets

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        status = self._refusal(scope)
        if status:
            await PlainTextResponse(_CLOSED, status)(scope, receive, send_safely)
        else:
            await self.app(scope, receive, send_safely)

    def _refusal(self, scope: Scope) -> int:
        """Status with which a request is refused; 0 if it is let in."""
        headers, path = Headers(scope=scope), scope["path"]
        if not self.guard.knows_host(headers.get("host", "")):
            return 421
        origin = headers.get("origin")
        if origin is not None and not self.guard.knows_origin(origin):
            return 403
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and path != "/":
            return 403
        if not (
            self.guard.is_token(_cookie(headers, self.guard.cookie)) or (path == "/" and self._token_in_query(scope))
        ):
            return 403
        if path.startswith("/api/") and not self.guard.is_token(headers.get(TOKEN_HEADER)):
            return 403
        return 0

    def _token_in_query(self, scope: Scope) -> bool:
        from urllib.parse import parse_qs

        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        return len(given) == 1 and self.guard.is_token(given[0])


def _cookie(headers: Any, name: str) -> str | None:
    for part in headers.get("cookie", "").split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            return value
    return None
