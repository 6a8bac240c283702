"""``dempster studio``: explore a table in the browser."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import click

from dempster.apps.cli.shared.errors import UserError
from dempster.apps.cli.shared.param_types import PATH, WholeNumber


@click.command(short_help="Explore a table in the browser.")
@click.argument("file", type=PATH, required=False)
@click.option("--port", type=WholeNumber(0, 65535), metavar="N", help="[default: one that is free]")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. This one is reached from this machine only.",
)
@click.option("--browser/--no-browser", default=True, show_default=True, help="Open the page.")
def studio(file: Path | None, port: int | None, host: str, browser: bool) -> None:
    """Start the studio, with FILE if one is named, and print the address of its page.

    \b
    dempster studio flowers.csv
    dempster studio --port 8080 --no-browser
    """
    from dempster.apps.studio import serve

    if file is not None and not file.is_file():
        raise UserError(f"{file}: there is no such file")
    _hang_up_as_terminated()
    serve(file, port=port, host=host, open_browser=browser)


def _hang_up_as_terminated() -> None:
    """A terminal that is closed ends the server in the way it knows, files removed; `nohup` keeps it running."""
    number = getattr(signal, "SIGHUP", None)
    if number is not None and callable(signal.getsignal(number)):  # heeded, as by the program
        signal.signal(number, _terminate)


def _terminate(*_: Any) -> None:
    signal.raise_signal(signal.SIGTERM)
