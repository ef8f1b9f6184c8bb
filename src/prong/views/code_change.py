"""Code changes as text rows. Each front end adds its own colours."""

import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from prong.code.diff import CodeDiff, FileChange
from prong.model.amounts import counted
from prong.views.text import cells, clean, cut, cut_left, pad

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_MARKS = {"added": "new", "deleted": "gone", "type changed": "other type"}


def summary(found: CodeDiff) -> str:
    """Summarize a diff: `+12 -3 in 4 files`."""
    stat = found.stat
    return f"+{stat.added} -{stat.removed} in {counted(stat.files, 'file')}"


class StatRow(NamedTuple):
    """One row of a diffstat: file name and line count, then a bar of pluses and minuses."""

    text: str
    plus: int = 0
    minus: int = 0


def stat_rows(files: Iterable[FileChange], room: int) -> Iterator[StatRow]:
    """Yield a row per file and a total, like `git diff --stat`, none wider than `room`."""
    rows = [
        (_name(file), "binary" if file.is_binary else str(file.added + file.removed), file)
        for file in files
    ]
    if not rows:
        return
    amounts = max(len(amount) for _, amount, _ in rows)
    names = min(max(cells(name) for name, _, _ in rows), max(room - amounts - 4 - 10, 10))
    bar = max(room - names - amounts - 5, 0)
    most = max(file.added + file.removed for _, _, file in rows)
    for name, amount, file in rows:
        share = min(bar / most, 1) if most else 0
        # Every change is visible, however small.
        plus, minus = (max(int(n * share), bool(n and share)) for n in (file.added, file.removed))
        text = f" {pad(cut_left(name, names), names)} | {amount:>{amounts}} "
        yield StatRow(text, plus, minus)
    added = sum(file.added for _, _, file in rows)
    removed = sum(file.removed for _, _, file in rows)
    yield StatRow(cut(f" {counted(len(rows), 'file')} changed, +{added} -{removed}", room))


def _name(file: FileChange) -> str:
    name = clean(file.path)
    if file.old_path is not None:
        name = f"{clean(file.old_path)} => {name}"
    mark = _MARKS.get(file.status)
    if file.status == "modified" and not (file.is_binary or file.added or file.removed):
        mark = "mode"
    return f"{name} ({mark})" if mark else name


class PatchLine(NamedTuple):
    """A line of a patch, without control characters."""

    kind: Literal["head", "hunk", "added", "removed", "plain"]
    text: str
    lead: int = 0
    """Length of the `@@ ... @@` part of a hunk header; the enclosing function follows it."""


def patch_lines(patch: bytes) -> Iterator[PatchLine]:
    """Classify the lines of a patch. Hunks are counted: a file may contain lines like `--- a`."""
    removed = added = 0
    lines = patch.split(b"\n")
    for raw in lines[:-1]:
        line = clean(raw.decode("utf-8", "replace"), lines=True)
        hunk = _HUNK.match(line)
        if removed <= 0 and added <= 0 and hunk:
            removed, added = (1 if count is None else int(count) for count in hunk.groups())
            yield PatchLine("hunk", line, hunk.end())
        elif (removed <= 0 and added <= 0) and not line.startswith("\\"):
            yield PatchLine("head", line)
        elif line.startswith("+"):
            added -= 1
            yield PatchLine("added", line)
        elif line.startswith("-"):
            removed -= 1
            yield PatchLine("removed", line)
        elif line.startswith("\\"):
            yield PatchLine("plain", line)
        else:
            removed, added = removed - 1, added - 1
            yield PatchLine("plain", line)
