"""The program ``dempster``, with one module for each command, imported when it is called."""

from __future__ import annotations

import os
import sys

import click

from dempster import __version__
from dempster.apps.cli.shared import Program, install_signal_handlers

__all__ = ["COMMANDS", "main", "program"]

# Descriptions of the commands, so that they can be listed without importing the modules.
COMMANDS = {
    "example": "Write an example table.",
    "cluster": "Cluster the rows of a table.",
    "select": "Compare numbers of clusters.",
    "doubt": "Estimate how certain the clusters of another program are.",
    "predict": "Apply a saved model to new rows.",
    "explain": "Explain an object, a cluster or a pair of clusters.",
    "report": "Write an HTML report on a result.",
    "ask": "Select pairs to label, and cluster again with the answers.",
    "compare": "Compare partitions of the same objects.",
    "classify": "Train a classifier on labeled rows and classify others.",
    "studio": "Explore a table in the browser.",
}


@click.group(
    cls=Program,
    lazy=COMMANDS,
    invoke_without_command=True,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 120,
        "show_default": True,
    },
)
@click.version_option(__version__, prog_name="dempster", message="%(prog)s %(version)s")
@click.pass_context
def program(context: click.Context) -> None:
    """Evidential clustering: find clusters, ambiguous objects and outliers.

    Start with "dempster example flowers.csv" and "dempster cluster flowers.csv", then use your own
    table.

    Exit codes: 0 success, 1 invalid data or files, 2 wrong command line, 70 defect of dempster, 130
    interrupted, 143 terminated.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main() -> None:
    """Run the program (entry point of the executable)."""
    install_signal_handlers()
    # A closed stream (``>&-``) is redirected to the null device. Otherwise the next opened file
    # would replace it.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # The encoding of the terminal may lack characters of a name.
            stream.reconfigure(errors="replace")
    program.main(prog_name="dempster")
