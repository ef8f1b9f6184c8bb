"""`prong diff`: show code changes."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import click

from prong.cli.arguments import SESSION, WithRest, json_option
from prong.cli.output import note, open_app, patience, print_json, styled, width
from prong.code.diff import CodeDiff, FileChange, pager
from prong.errors import UsageError
from prong.views import json
from prong.views.code_change import patch_lines, stat_rows, summary
from prong.views.text import clean, cut

_PIPE_WIDTH = 80
_STYLES: dict[str, dict[str, Any]] = {
    "head": {"bold": True},
    "added": {"fg": "green"},
    "removed": {"fg": "red"},
}


@click.command(cls=WithRest, rest="paths")
@click.argument("first", type=SESSION, metavar="SESSION[@A[..B]]")
@click.argument("second", type=SESSION, metavar="[OTHER[@B]] [-- PATH...]", required=False)
@click.option("--stat", is_flag=True, help="Show the number of changed lines per file.")
@click.option("--name-only", is_flag=True, help="Show only the names of changed files.")
@click.option("--patch", is_flag=True, help="With --json: include the patch.")
@click.option("--no-pager", is_flag=True, help="Do not use a pager.")
@json_option
def diff(first: str, second: str | None, paths: tuple[str, ...], **given: Any) -> None:
    """Show code changes.

    `SESSION@3` is what turn 3 changed, `SESSION@3..7` what changed between the end of turn 3 and
    the end of turn 7, and SESSION everything that the session changed. With two sessions, compares
    their code at the given turns, or at the last ones. Paths after `--` limit the diff.

    On a terminal the diff opens in git's pager. In a pipe it is a patch for `git apply`.
    """
    if given["stat"] and given["name_only"]:
        raise UsageError("--stat or --name-only, not both")
    if given["patch"] and not given["as_json"]:
        raise UsageError("--patch needs --json", hint="leave --patch out")
    app = open_app()
    with patience("comparing ..."):
        changes = app.code.diff(first, second, paths)
    if given["as_json"]:
        value = json.diff(changes)
        if given["patch"]:
            value["patch"] = changes.patch(binary=True).decode("utf-8", "replace")
        print_json(value)
        return
    on_terminal = sys.stdout.isatty()
    for text in () if on_terminal and changes.files else changes.notes:
        note(f"note: {text}")
    if not on_terminal and not (given["stat"] or given["name_only"]):
        click.echo(changes.patch(binary=True), nl=False)
        return
    if on_terminal and not changes.files:
        note("no changes in these paths" if paths else "no code changes")
    elif on_terminal:
        lines = chain(_title(changes), _lines(changes, given))
        page(lines, "" if given["no_pager"] else pager(Path()))
    else:
        page(_lines(changes, given), "")


def _lines(found: CodeDiff, given: dict[str, Any]) -> Iterable[str]:
    if given["name_only"]:
        return (clean(file.path) for file in found.files)
    if given["stat"]:
        return stat_lines(found.files, width() or _PIPE_WIDTH)
    return coloured(found.patch())


def _title(found: CodeDiff) -> Iterator[str]:
    """Yield a heading that names the compared points."""
    old, new = found.old, found.new
    room = width() or _PIPE_WIDTH
    end = new.name if old.session.ref == new.session.ref else str(new)
    compared = str(new) if found.turn else f"{old}..{end}"
    yield styled(cut(clean(f"{compared}  {summary(found)}"), room), fg="yellow")
    if found.turn:
        yield styled(cut(clean(found.turn.prompt), room), bold=True)
    for text in found.notes:
        yield styled(cut(clean(f"note: {text}"), room), dim=True)
    yield ""


def stat_lines(files: Iterable[FileChange], room: int) -> Iterator[str]:
    """Yield a row per file and a total, like `git diff --stat`, none wider than `room`."""
    for row in stat_rows(files, room):
        bar = styled("+" * row.plus, fg="green") + styled("-" * row.minus, fg="red")
        yield f"{row.text}{bar}".rstrip()


def coloured(patch: bytes) -> Iterator[str]:
    """Colour the lines of a patch like git. Escape sequences in the patch have no effect."""
    for kind, text, lead in patch_lines(patch):
        if kind == "hunk":
            yield styled(text[:lead], fg="cyan") + text[lead:]
        else:
            yield styled(text, **_STYLES[kind]) if kind in _STYLES else text


def page(lines: Iterable[str], wanted: str | None) -> None:
    """Show lines on the terminal. `wanted` is the pager from git's settings; "" for none."""
    command = wanted
    if command != "":
        command = os.environ.get("GIT_PAGER", command)
    if command is None:
        command = os.environ.get("PAGER", "less")
    if not sys.stdout.isatty() or command in ("", "cat") or not _is_there(command):
        for line in lines:
            click.echo(line)
        return
    _through(command, lines)


def _through(command: str, lines: Iterable[str]) -> None:
    environment = {"LESS": "FRX", "LV": "-c", **os.environ}
    # A shell command from the user's own settings, as in git.
    process = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environment)  # noqa: S602
    assert process.stdin is not None
    # Ctrl-C is for the pager, which keeps running and handles it in its own way.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    encoding = sys.stdout.encoding or "utf-8"
    try:
        with process.stdin as stdin:
            for line in lines:
                stdin.write(f"{line}\n".encode(encoding, "replace"))
    except BrokenPipeError:
        pass  # the pager was closed early
    finally:
        process.wait()
        signal.signal(signal.SIGINT, handler)


def _is_there(command: str) -> bool:
    """Return whether the pager is installed. If its command cannot be parsed, let the shell try."""
    try:
        words = [word for word in shlex.split(command) if "=" not in word]
    except ValueError:
        return True
    return bool(words) and shutil.which(words[0]) is not None
