"""Start the studio: find a port, say where it is, serve until it is stopped."""

from __future__ import annotations

import os
import socket
import webbrowser
from threading import Timer
from typing import TYPE_CHECKING

from dempster._errors import InvalidInputError, MissingExtraError
from dempster.io.atomic import as_file

if TYPE_CHECKING:
    from dempster.apps.studio.guard import Guard


def serve(
    file: str | os.PathLike[str] | None = None,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    open_browser: bool = True,
) -> None:
    """Open the studio in a browser and serve it until it is stopped by Ctrl-C.

    The address that is printed holds a token, drawn at random, without which nothing is served.

    Parameters
    ----------
    file : path, optional
        Table that each new tab starts with: anything that `dempster.io.read_table` reads.
    host : str, default="127.0.0.1"
        Address to listen on. Others than this machine reach the studio only if another one is given; what they send
        is not encrypted.
    port : int, optional
        A free one by default, and for 0.
    open_browser : bool, default=True
        Whether to open the page.

    Raises
    ------
    ImportError
        The extra ``dempster[studio]`` is not installed.
    OSError
        The file is not there, or the port is taken.

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
        raise MissingExtraError("the studio", "starlette and uvicorn", "studio") from error
    from dempster.apps.studio.guard import Guard, is_loopback

    path = None if file is None else as_file(file, "file")
    if port is not None and (isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 65536):
        raise InvalidInputError(f"port must be a whole number from 0 (any) to 65535, got {port!r}")
    listener = _listener(host, port)
    guard = Guard(host, listener.getsockname()[1])
    if not is_loopback(host):
        print(f"Anyone who can reach {host} and knows the token can use the studio; nothing is encrypted.", flush=True)
    try:
        from dempster.apps.studio.app import make_app  # takes seconds: the address is told when it answers

        app = make_app(guard, path)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="on",
            timeout_graceful_shutdown=3,
        )
        try:
            _announce(guard, open_browser)
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            app.state.sessions.close()  # also where it ends before it has begun to serve
    except KeyboardInterrupt:
        pass  # the way to end it
    finally:
        listener.close()


def _listener(host: str, port: int | None) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is told, for asyncio sends small answers at once only where it reads TCP here: else each waits 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name != "nt":  # where it would let two programs listen at once
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port or 0))
    except OSError as error:
        listener.close()
        reason = error.strerror or "not possible"
        raise OSError(f"cannot listen on {host}, port {port or 'any'}: {reason}; give another by --port") from error
    listener.listen(128)
    return listener


def _announce(guard: Guard, open_browser: bool) -> None:
    print(f"The studio is at {guard.address}", flush=True)
    print("It runs until you press Ctrl-C.", flush=True)
    if open_browser:
        Timer(0.5, webbrowser.open, [guard.address]).start()
