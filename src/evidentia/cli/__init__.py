"""The program ``evidentia``: one command a file."""

from __future__ import annotations

import sys

import click

from evidentia import __version__
from evidentia.cli.cluster import cluster
from evidentia.cli.demo import demo
from evidentia.cli.errors import Program

__all__ = ["main", "program"]


@click.group(cls=Program, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="evidentia", message="%(prog)s %(version)s")
@click.pass_context
def program(context: click.Context) -> None:
    """Clustering that says how sure it is, and what it is unsure between.

    Start with "evidentia demo", then "evidentia cluster FILE -c 3" on a table of your own.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


program.add_command(cluster)
program.add_command(demo)


def main() -> None:
    """Entry point of the executable."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a name the terminal cannot show is no reason to fail
    program.main(prog_name="evidentia")
