"""``dempster completion``: print the completion script for a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from dempster.apps.cli.shared import Command


@click.command(
    cls=Command,
    examples=(
        "bash: echo 'eval \"$(dempster completion bash)\"' >> ~/.bashrc",
        "zsh:  echo 'eval \"$(dempster completion zsh)\"' >> ~/.zshrc",
        "fish: dempster completion fish > ~/.config/fish/completions/dempster.fish",
    ),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script with which SHELL completes commands, options, methods and columns of FILE."""
    script = get_completion_class(shell)
    assert script is not None
    click.echo(
        script(ctx.find_root().command, {}, "dempster", "_DEMPSTER_COMPLETE").source()
    )
