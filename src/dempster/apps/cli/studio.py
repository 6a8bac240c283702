"""``dempster studio``: explore a table in the browser."""

from __future__ import annotations

import signal
from pathlib import Path

import click

from dempster.apps.cli.shared import PATH, Command, UserError


@click.command(
    cls=Command,
    examples=(
        "dempster studio flowers.csv",
        "dempster studio --port 8080 --no-browser",
    ),
)
@click.argument("file", type=PATH, required=False)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port to listen on. [default: a free port]",
)
@click.option(
    "--host",
    default="127.0.0.1",
    help="Address to listen on. The default accepts connections from this computer only.",
)
@click.option(
    "--browser/--no-browser", default=True, help="Open the page in the browser."
)
def studio(file: Path | None, port: int | None, host: str, browser: bool) -> None:
    """Start the studio, optionally with the table FILE, and print the address of the studio."""
    from dempster.apps.studio import serve

    if file is not None and not file.is_file():
        raise UserError(f"{file}: no such file")
    hangup = getattr(signal, "SIGHUP", None)
    # Under nohup the signal stays ignored.
    if hangup is not None and callable(signal.getsignal(hangup)):
        # A closed terminal sends SIGHUP. The server closes its sessions on SIGTERM only.
        signal.signal(hangup, lambda *_: signal.raise_signal(signal.SIGTERM))
    serve(file, port=port, host=host, open_browser=browser)
