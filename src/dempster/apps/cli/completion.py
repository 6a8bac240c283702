"""``dempster completion``: what a shell needs to complete commands, options, methods and columns."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(short_help="Completion for bash, zsh or fish.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the lines that make SHELL complete commands, options, methods, and columns of the file that is named.

    \b
    bash: echo 'eval "$(dempster completion bash)"' >> ~/.bashrc
    zsh:  echo 'eval "$(dempster completion zsh)"' >> ~/.zshrc
    fish: dempster completion fish > ~/.config/fish/completions/dempster.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "dempster", "_DEMPSTER_COMPLETE").source())
