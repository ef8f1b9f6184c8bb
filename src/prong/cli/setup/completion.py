"""`prong completion`: print a script for shell completion."""

import click
from click.shell_completion import get_completion_class

# Like bash, click's own script breaks words at colons, so it cannot complete
# `claude:60309e1e`. This one takes the line as typed, and returns the part after
# the last colon, which is the word that bash replaces.
_BASH = r"""_prong_completion() {
    local line="${COMP_LINE:0:COMP_POINT}" words type value typed=""
    read -ra words <<< "$line"
    local position=$((${#words[@]} - 1))
    if [[ $line == *[[:space:]] ]]; then
        position=${#words[@]}
    else
        typed="${words[position]}"
    fi
    local before="${typed%"${typed##*:}"}"
    [[ $COMP_WORDBREAKS == *:* ]] || before=""
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("${value#"$before"}") ;;
        esac
    done < <(COMP_WORDS="$line" COMP_CWORD=$position _PRONG_COMPLETE=bash_complete "$1")
}

complete -o nosort -F _prong_completion prong
"""


@click.command(
    help="""Print a script for shell completion.

    It completes commands, options, sessions and workers.

    \b
    bash:  eval "$(prong completion bash)"    in ~/.bashrc
    zsh:   eval "$(prong completion zsh)"     in ~/.zshrc
    fish:  prong completion fish > ~/.config/fish/completions/prong.fish
    """
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    if shell == "bash":
        click.echo(_BASH, nl=False)
        return
    complete = get_completion_class(shell)
    assert complete is not None
    program = context.find_root().command
    click.echo(complete(program, {}, "prong", "_PRONG_COMPLETE").source())
