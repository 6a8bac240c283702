"""``evidentia studio``: explore a table in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from evidentia.cli.shared.errors import UserError, user_errors
from evidentia.cli.shared.kinds import PATH, WholeNumber

__all__ = ["studio"]


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
    evidentia studio flowers.csv
    evidentia studio --port 8080 --no-browser
    """
    from evidentia.studio import serve

    if file is not None and not file.is_file():
        raise UserError(f"{file}: there is no such file")
    with user_errors():
        serve(file, port=port, host=host, open_browser=browser)
