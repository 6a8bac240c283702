"""The program ``dempster``: one command a file, imported when it is called."""

from __future__ import annotations

import os
import sys

import click

from dempster import __version__
from dempster.apps.cli.shared.errors import Program, install_signal_handlers

__all__ = ["COMMANDS", "main", "program"]

# What each command does, in the order in which one needs them; a test holds this equal to what the commands say.
COMMANDS = {
    "demo": "Cluster an example dataset.",
    "cluster": "Cluster the rows of a table.",
    "select": "How many clusters: candidates and reasons.",
    "predict": "Apply a saved model to new rows.",
    "explain": "Why an object, a cluster or a pair of clusters.",
    "report": "A page for people who must act on the result.",
    "ask": "Questions to an expert that teach most.",
    "compare": "Compare partitions: indices, map, who moved.",
    "combine": "Make one partition of several.",
    "classify": "Learn classes from labelled rows; decide on others.",
    "convert": "Partitions and models from one kind of file to another.",
    "studio": "Explore a table in the browser.",
    "info": "Versions, devices, threads, kernels, caches.",
    "completion": "Completion for bash, zsh or fish.",
}


@click.group(
    cls=Program,
    lazy=COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(__version__, prog_name="dempster", message="%(prog)s %(version)s")
@click.pass_context
def program(context: click.Context) -> None:
    """Clustering that says how sure it is, and what it is unsure between.

    Start with "dempster demo", then "dempster cluster FILE" on a table of your own.

    Exit codes: 0 done, 1 the data or files are at fault, 2 wrong use, 70 a fault of dempster, 130 interrupted, 143
    terminated.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _open_streams() -> None:
    """Streams that were closed before the start (``>&-``) lead nowhere; left closed, the next file that is opened would
    take their place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def main() -> None:
    """Entry point of the executable."""
    install_signal_handlers()
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a name the terminal cannot show is no reason to fail
    program.main(prog_name="dempster")
