"""Start the studio, print its address, and serve it until the program is interrupted."""

from __future__ import annotations

import os
import socket
import webbrowser
from threading import Timer
from typing import TYPE_CHECKING, Any

from dempster import _validation as rule
from dempster._errors import MissingExtraError
from dempster._types import FilePath
from dempster.io.atomic import as_file

if TYPE_CHECKING:
    import uvicorn

MAX_SILENT_SECONDS = 10  # maximum time until the headers of the first request


def serve(
    file: FilePath | None = None,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    open_browser: bool = True,
) -> None:
    """Open the studio in a browser and serve it until Ctrl-C.

    The printed address contains a random token. Requests without the token are rejected.

    Parameters
    ----------
    file : path, optional
        Table that each new tab loads, in any format of `dempster.io.read_table`.
    host : str, default="127.0.0.1"
        Address of the server. By default only this machine can reach the studio. The connection is
        not encrypted.
    port : int, optional
        Port of the server; by default (and for 0) a free port is selected.
    open_browser : bool, default=True
        Whether to open the page.

    Raises
    ------
    ImportError
        The extra ``dempster[studio]`` is not installed.
    OSError
        The file does not exist, or the port is in use.

    Examples
    --------
    >>> from dempster.apps.studio import serve
    >>> serve("flowers.csv", port=8050)  # doctest: +SKIP
    The studio is at http://127.0.0.1:8050/?token=...
    """
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise MissingExtraError(
            "the studio", "starlette and uvicorn", "studio"
        ) from error
    from dempster.apps.studio.guard import Guard, is_loopback

    path = None if file is None else as_file(file, "file")
    rule.check(port, "port", rule.none | rule.integer(0, 65535))
    listener = bind_socket(host, port)
    guard = Guard(host, listener.getsockname()[1])
    if not is_loopback(host):
        print(
            f"Anyone who can reach {host} and has the token can use the studio. "
            "Nothing is encrypted.",
            flush=True,
        )
    try:
        # This import takes seconds. The address is printed afterwards, when the studio can answer
        # requests.
        from dempster.apps.studio.app import make_app

        app = make_app(guard, path)
        config = make_config(app)
        try:
            print(
                f"The studio is at {guard.address}\nPress Ctrl-C to stop it.",
                flush=True,
            )
            if open_browser:
                Timer(0.5, webbrowser.open, [guard.address]).start()
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            # The server does not close the sessions if it is interrupted while it starts.
            app.state.sessions.close()
    except KeyboardInterrupt:
        pass
    finally:
        listener.close()


def make_config(app: Any) -> uvicorn.Config:
    """Return the configuration of the server, which closes connections without a request."""
    import uvicorn
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    class Protocol(AutoHTTPProtocol):  # type: ignore[misc,valid-type]
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.loop.call_later(MAX_SILENT_SECONDS, self._close_if_silent)

        def _close_if_silent(self) -> None:
            if self.cycle is None:  # The headers of the first request are not complete.
                self.transport.close()

    return uvicorn.Config(
        app,
        http=Protocol,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=3,
    )


def bind_socket(host: str, port: int | None) -> socket.socket:
    """Return a listening socket; raise OSError if the port is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio disables Nagle's algorithm, which delays small responses by 40 ms, only if the
    # protocol is set to TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    # On Windows this option would allow two programs to use the same port.
    if os.name != "nt":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port or 0))
    except OSError as error:
        listener.close()
        reason = error.strerror or "not possible"
        raise OSError(
            f"cannot listen on {host}, port {port or 'any'}: {reason}; select another with --port"
        ) from error
    listener.listen(128)
    return listener
