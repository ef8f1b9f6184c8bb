"""`prong diff`."""

import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from prong.cli.arguments import SessionArgument
from prong.cli.output import json_option, note, open_app, patience, print_json, styled, width
from prong.cli.text import cells, clean, counted, cut, cut_left, pad
from prong.errors import UsageError

if TYPE_CHECKING:
    from prong.app.diffing import CodeDiff, FileChange

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_PIPE_WIDTH = 80
_MARKS = {"added": "new", "deleted": "gone", "type changed": "other type"}


class _WithPaths(click.Command):
    """A command that takes paths behind `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        paths: list[str] = []
        if "--" in args:
            at = args.index("--")
            args, paths = args[:at], args[at + 1 :]
        rest = super().parse_args(ctx, args)
        ctx.params["paths"] = tuple(paths)
        return rest


@click.command(cls=_WithPaths)
@click.argument("first", type=SessionArgument(), metavar="SESSION[@A[..B]]")
@click.argument(
    "second", type=SessionArgument(), metavar="[OTHER[@B]] [-- PATH...]", required=False
)
@click.option("--stat", is_flag=True, help="Only how much changed in each file.")
@click.option("--name-only", is_flag=True, help="Only the names of the files.")
@click.option("--patch", is_flag=True, help="With --json, the lines as well.")
@click.option("--no-pager", is_flag=True, help="Print it, however long it is.")
@json_option
def diff(first: str, second: str | None, paths: tuple[str, ...], **given: Any) -> None:
    """Show what changed in the code.

    `SESSION@3` is what turn 3 changed, `SESSION@3..7` what changed from the end of turn 3 to the
    end of turn 7, SESSION alone all that it changed. With two sessions: from the code of the first
    to that of the other, at the turns that are named or the last ones. Paths behind `--` limit it.

    On a terminal it comes through the pager of git. In a pipe it is what `git apply` takes.
    """
    from prong.app import views

    if given["stat"] and given["name_only"]:
        raise UsageError("--stat or --name-only, not both")
    if given["patch"] and not given["as_json"]:
        raise UsageError("--patch goes with --json", hint="leave --patch out")
    app = open_app()
    with patience("comparing ..."):
        found = app.diff_code(first, second, paths)
    if given["as_json"]:
        value = views.diff(found)
        if given["patch"]:
            value["patch"] = found.patch(binary=True).decode("utf-8", "replace")
        print_json(value)
        return
    on_terminal = sys.stdout.isatty()
    for one in () if on_terminal and found.files else found.notes:
        note(f"note: {one}")
    if not on_terminal and not (given["stat"] or given["name_only"]):
        click.echo(found.patch(binary=True), nl=False)
        return
    lines = _lines(found, stat=given["stat"], name_only=given["name_only"])
    if not on_terminal:
        for line in lines:
            click.echo(line)
    elif found.files:
        _show(found, lines, paged=not given["no_pager"])
    else:
        note("nothing changed there" if paths else "no code changed")


def _lines(found: "CodeDiff", *, stat: bool, name_only: bool) -> Iterable[str]:
    if name_only:
        return (clean(file.path) for file in found.files)
    if stat:
        return stat_lines(found.files, width() or _PIPE_WIDTH)
    return coloured(found.patch())


def _show(found: "CodeDiff", lines: Iterable[str], *, paged: bool) -> None:
    from itertools import chain
    from pathlib import Path

    from prong.app.diffing import pager
    from prong.cli.pager import page

    page(chain(_title(found), lines), pager(Path()) if paged else "")


def _title(found: "CodeDiff") -> Iterator[str]:
    """What is compared, as a heading."""
    old, new = found.old, found.new
    room = width() or _PIPE_WIDTH
    end = new.name if old.session.ref == new.session.ref else str(new)
    what = str(new) if found.turn else f"{old}..{end}"
    yield styled(cut(clean(f"{what}  {summary(found)}"), room), fg="yellow")
    if found.turn:
        yield styled(cut(clean(found.turn.prompt), room), bold=True)
    for one in found.notes:
        yield styled(cut(clean(f"note: {one}"), room), dim=True)
    yield ""


def summary(found: "CodeDiff") -> str:
    """`+12 -3 in 4 files`."""
    stat = found.stat
    return f"+{stat.added} -{stat.removed} in {counted(stat.files, 'file')}"


def stat_lines(files: "Iterable[FileChange]", room: int) -> Iterator[str]:
    """A line for each file and one for all, as git shows them; none is wider than the room."""
    rows = [(_name(file), _amount(file), file) for file in files]
    if not rows:
        return
    amounts = max(len(amount) for _, amount, _ in rows)
    names = min(max(cells(name) for name, _, _ in rows), max(room - amounts - 4 - 10, 10))
    bar = max(room - names - amounts - 5, 0)
    most = max(file.added + file.removed for _, _, file in rows)
    for name, amount, file in rows:
        share = min(bar / most, 1) if most else 0
        plus, minus = (_length(count, share) for count in (file.added, file.removed))
        line = f" {pad(cut_left(name, names), names)} | {amount:>{amounts}} "
        line += styled("+" * plus, fg="green") + styled("-" * minus, fg="red")
        yield line.rstrip()
    added = sum(file.added for _, _, file in rows)
    removed = sum(file.removed for _, _, file in rows)
    yield cut(f" {counted(len(rows), 'file')} changed, +{added} -{removed}", room)


def _length(count: int, share: float) -> int:
    # What changed at all is seen.
    return max(int(count * share), 1) if count and share else 0


def _name(file: "FileChange") -> str:
    name = clean(file.path)
    if file.old_path is not None:
        name = f"{clean(file.old_path)} => {name}"
    mark = _MARKS.get(file.status)
    if file.status == "modified" and not (file.is_binary or file.added or file.removed):
        mark = "mode"
    return f"{name} ({mark})" if mark else name


def _amount(file: "FileChange") -> str:
    return "binary" if file.is_binary else str(file.added + file.removed)


def coloured(patch: bytes) -> Iterator[str]:
    """The lines of a patch for a terminal, as git colours them.

    Nothing that stands in the files is obeyed: of all escapes only ours are left.
    """
    removed = added = 0
    lines = patch.split(b"\n")
    for raw in lines[:-1]:
        line = clean(raw.decode("utf-8", "replace"), lines=True)
        hunk = _HUNK.match(line)
        if removed <= 0 and added <= 0 and hunk:
            removed, added = (1 if count is None else int(count) for count in hunk.groups())
            yield styled(hunk[0], fg="cyan") + line[hunk.end() :]
        elif (removed <= 0 and added <= 0) and not line.startswith("\\"):
            yield styled(line, bold=True)
        elif line.startswith("+"):
            added -= 1
            yield styled(line, fg="green")
        elif line.startswith("-"):
            removed -= 1
            yield styled(line, fg="red")
        elif line.startswith("\\"):
            yield line
        else:
            removed, added = removed - 1, added - 1
            yield line
