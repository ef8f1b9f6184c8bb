"""`prong completion`."""

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    r"""Print the script that lets a shell complete commands and sessions.

    \b
    bash:  eval "$(prong completion bash)"    in ~/.bashrc
    zsh:   eval "$(prong completion zsh)"     in ~/.zshrc
    fish:  prong completion fish > ~/.config/fish/completions/prong.fish
    """
    complete = get_completion_class(shell)
    assert complete is not None
    program = context.find_root().command
    click.echo(complete(program, {}, "prong", "_PRONG_COMPLETE").source())
