"""The `prong` command: loads subcommands and turns errors into exit statuses."""

import io
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn, TextIO, cast

import click

from prong import __version__
from prong.cli.output import fail
from prong.errors import ProngError, UsageError, out_of_memory
from prong.views.text import clean

SECTIONS = {
    "Search": {
        "find": ("search.find", "Search past turns."),
        "ui": ("search.ui", "Open the terminal UI."),
        "index": ("search.index", "Update the search index."),
    },
    "Sessions": {
        "list": ("sessions.list", "List sessions of all projects, newest first."),
        "show": ("sessions.show", "Show the transcript of a session or of one turn."),
        "turns": ("sessions.turns", "List the turns of a session."),
        "diff": ("sessions.diff", "Show code changes."),
        "resume": ("sessions.resume", "Resume a session."),
        "export": ("sessions.export", "Export sessions as Markdown."),
    },
    "Forks": {
        "fork": ("forks.fork", "Fork a session at a turn."),
        "tree": ("forks.tree", "Show which sessions were forked from which."),
        "snapshot": ("forks.snapshot", "Capture the current code as that of the last turn."),
        "worktrees": ("forks.worktrees", "List and prune the worktrees of forks."),
    },
    "Workers": {
        "run": ("workers.start", "Start a worker."),
        "ps": ("workers.table", "List workers and their state."),
        "status": ("workers.control", "Show worker status and its evidence."),
        "send": ("workers.control", "Send a prompt to a worker."),
        "wait": ("workers.control", "Wait until workers are idle."),
        "attach": ("workers.control", "Attach to a worker's pane."),
        "log": ("workers.control", "Show a worker's transcript."),
        "key": ("workers.control", "Send keys to a worker's pane."),
        "clone": ("workers.start", "Clone a worker."),
        "stop": ("workers.control", "Stop workers."),
        "restart": ("workers.start", "Restart a worker that is gone or was stopped."),
        "rename": ("workers.control", "Rename a worker."),
        "serve": ("workers.control", "Serve workers to other programs over a unix socket."),
    },
    "Setup": {
        "hooks": ("setup.hooks", "Manage the hooks that capture code after every turn."),
        "mcp": ("setup.mcp", "Run the MCP server."),
        "schedule": ("setup.schedule", "Schedule index updates and exports."),
        "doctor": ("setup.doctor", "Check the installation, and show how to fix what is missing."),
        "demo": ("setup.demo", "Try prong on sample sessions, in a temporary folder."),
        "completion": ("setup.completion", "Print a script for shell completion."),
    },
}
"""Commands as `prong --help` groups them: module and summary. Help imports none of them."""
COMMANDS = {name: module for names in SECTIONS.values() for name, (module, _) in names.items()}
_OTHER_NAMES = {
    **dict.fromkeys(("search", "grep", "query"), "find"),
    **dict.fromkeys(("ls", "sessions"), "list"),
    **dict.fromkeys(("view", "cat"), "show"),
    **dict.fromkeys(("start", "spawn", "new", "exec"), "run"),
    **dict.fromkeys(("workers", "jobs", "agents"), "ps"),
    **dict.fromkeys(("state", "idle", "info"), "status"),
    **dict.fromkeys(("kill", "rm", "end", "quit"), "stop"),
    **dict.fromkeys(("prompt", "ask", "tell", "say"), "send"),
    **dict.fromkeys(("keys", "press", "type"), "key"),
    **dict.fromkeys(("open", "focus"), "attach"),
    **dict.fromkeys(("logs", "tail", "output"), "log"),
    **dict.fromkeys(("copy", "cp", "duplicate"), "clone"),
    **dict.fromkeys(("mv", "name"), "rename"),
    **dict.fromkeys(("daemon", "server"), "serve"),
}
"""Names that people may try, and the commands that they mean."""


class _ClosedPipe(Exception):
    """The reader, such as `head`, closed the pipe. click would exit with status 1."""


@contextmanager
def _pipe() -> Generator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise _ClosedPipe from error


class _Main(click.Group):
    """Command group that reports all errors in the same way."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return command_named(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        longest = max(map(len, COMMANDS))
        for title, names in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(longest), text) for name, (_, text) in names.items()]
                )

    def make_context(self, *arguments: Any, **extra: Any) -> click.Context:
        with _pipe():
            return super().make_context(*arguments, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _pipe():
            super().invoke(ctx)
            # A closed pipe may only show when the last output is flushed.
            stdout: Any = sys.stdout
            if stdout is not None:
                stdout.flush()

    def main(  # pyright: ignore[reportIncompatibleMethodOverride] -- one mode is enough for us
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        **extra: Any,
    ) -> NoReturn:
        words = list(sys.argv[1:] if args is None else args)
        extra["standalone_mode"] = False
        _never_choke(sys.stdout)
        try:
            status = super().main(words, "prong", **extra)
        except click.exceptions.Exit as exit_error:
            status = exit_error.exit_code
        except (click.Abort, KeyboardInterrupt):
            status = 130
        except _ClosedPipe:
            _abandon(sys.stdout)
            status = 0
        except click.ClickException as error:
            hint = _usage_hint(error, words) if isinstance(error, click.UsageError) else None
            status = fail(UsageError(error.format_message(), hint=hint), words)
        except ProngError as error:
            status = fail(error, words)
        except MemoryError:
            status = fail(out_of_memory(), words)
        except OSError as error:
            # A full disk or a closed terminal is not a bug in prong.
            _abandon(sys.stdout)
            status = fail(ProngError(str(error)), words)
        except Exception as error:  # noqa: BLE001 -- the last place that can report it
            status = _report_bug(error, words)
        sys.exit(status)


def command_named(name: str) -> click.Command:
    module = import_module(f"prong.cli.{COMMANDS[name]}")
    return cast(click.Command, getattr(module, "list_" if name == "list" else name))


def _usage_hint(error: click.UsageError, words: list[str]) -> str:
    """Suggest what to type instead of unknown words."""
    is_prompt = any(word.startswith("-") and len(word.split()) > 1 for word in words)
    if isinstance(error, click.NoSuchOption) and is_prompt and words[0] in ("run", "send"):
        return f"pass a prompt that starts with a dash on stdin: prong {words[0]} ... -"
    from difflib import get_close_matches

    meant = [_OTHER_NAMES.get(word, word) for word in words[:1]]
    names = [name for word in meant for name in get_close_matches(word, COMMANDS, 1)]
    return " ".join(["prong", *names, "--help"])


def _never_choke(stream: TextIO) -> None:
    """Print `?` for characters that the terminal's encoding lacks."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def _abandon(stream: TextIO) -> None:
    """Redirect the stream to /dev/null: Python would report another write error at exit."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except OSError:  # not a real file, as in a test or notebook
        return


def _report_bug(error: Exception, words: Sequence[str]) -> int:
    import traceback

    trace = "".join(traceback.format_exception(error))
    if "--json" not in words:
        click.echo(clean(trace, lines=True), err=True, nl=False)
    message = f"{type(error).__name__}: {error}"
    hint = "this is a bug in prong; please report it with the lines above"
    return fail(ProngError(message, hint=hint, trace=trace), words)


@click.group(
    cls=_Main,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="prong %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Find the past coding-agent conversation that already knows what you need.

    Reads Claude Code and Codex sessions in place, read-only.

    SESSION is an id such as `claude:60309e1e` (any unique prefix works), a worker's name, the path
    of a session file, or `last` for the newest session in this folder. Append `@12` for a turn, or
    `@-1` for the last one. `%1` is the first hit of the last `prong find`.
    """
    if context.invoked_subcommand is not None:
        return
    from prong.cli.search.ui import has_screen, show

    if has_screen():
        show()
    else:
        click.echo(context.get_help())
