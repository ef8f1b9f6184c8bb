"""The `prong` command and how it ends: with an exit status that scripts may rely on."""

import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from prong import __version__
from prong.cli.completion import completion
from prong.cli.demo import demo
from prong.cli.doctor import doctor
from prong.cli.listing import list_sessions
from prong.cli.output import fail
from prong.cli.show import show
from prong.cli.tree import tree
from prong.cli.turns import turns
from prong.errors import ProngError, UsageError


class _Main(click.Group):
    """A group whose errors look alike, whoever raised them."""

    def main(  # pyright: ignore[reportIncompatibleMethodOverride] -- one mode is enough for us
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        **extra: Any,
    ) -> NoReturn:
        words = list(sys.argv[1:] if args is None else args)
        extra["standalone_mode"] = False
        try:
            status = super().main(words, prog_name or "prong", **extra)
            # A closed pipe shows when the last words are written, not before.
            sys.stdout.flush()
        except click.exceptions.Exit as exit_:
            status = exit_.exit_code
        except (click.Abort, KeyboardInterrupt):
            click.echo("", err=True)
            status = 130
        except BrokenPipeError:
            # The reader, `head` perhaps, has seen enough. Python would complain once more at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            status = 0
        except click.UsageError as error:
            context = error.ctx.command_path if error.ctx else "prong"
            status = fail(UsageError(error.format_message(), hint=f"{context} --help"), words)
        except click.ClickException as error:
            status = fail(UsageError(error.format_message()), words)
        except ProngError as error:
            status = fail(error, words)
        sys.exit(status)


@click.group(
    cls=_Main,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="prong %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Find the past coding-agent conversation that already knows what you need.

    Reads the sessions of Claude Code and Codex where they lie and changes none of them.

    SESSION is `claude:60309e1e` or any unique beginning of an id, a path to a session file, or
    `last` for the newest one of this folder. `@12` behind it names a turn, `@-1` the last one.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _command in (list_sessions, show, turns, tree, doctor, demo, completion):
    main.add_command(_command)
