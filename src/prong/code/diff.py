"""Code changes of a turn, between two turns, or between two forks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from pathlib import Path

from prong.code import changes, gaps
from prong.code.changes import FileChange, Sides
from prong.code.git import Git
from prong.code.repository import Repository
from prong.code.turn_code import CapturedCode
from prong.errors import NotFound, ProngError, UsageError
from prong.model.code import DiffStat, Snapshot
from prong.model.record import Record
from prong.model.sessions import Session, Turn

_RANGE = re.compile(r"(.+?)(?<![/.])\.\.(?!/)(.*)", re.DOTALL)
"""The two dots of `A..B`, but not those of a path."""
_OF_THE_PERSON = ("system", "global")
_INSTALL = "prong hooks install captures every turn from now on"


class CodePoint(Record, frozen=True):
    """The code at the end of a turn."""

    session: Session
    turn: Turn | None
    """None before the first turn."""
    snapshot: Snapshot
    at_prompt: bool = False
    """The code at the prompt after that turn, not at its end."""

    @property
    def number(self) -> int | None:
        """The turn number: 0 before the first turn, None on an abandoned branch."""
        return self.turn.index if self.turn else 0

    @property
    def name(self) -> str:
        """What follows the `@` in the name of this point."""
        return str(self.number) if self.turn is None or self.number else self.turn.id

    def __str__(self) -> str:
        return f"{self.session.ref}@{self.name}"


class CodeDiff(Record, frozen=True):
    """The differences between two states of the code."""

    old: CodePoint
    new: CodePoint
    files: tuple[FileChange, ...]
    notes: tuple[str, ...]
    """Caveats to show to the user."""
    sides: tuple[Sides, ...]
    paths: tuple[str, ...]
    """The paths that the diff is limited to, if any."""

    @property
    def turn(self) -> Turn | None:
        """The turn that made this change; None if it spans several."""
        old, new = self.old, self.new
        if old.session.ref != new.session.ref or None in (old.number, new.number):
            return None
        return new.turn if (old.number or 0) + 1 == new.number else None

    @property
    def since_prompt(self) -> bool | None:
        """Whether a turn is compared with its prompt, rather than with the turn before."""
        return not self.old.snapshot.key.is_turn if self.turn else None

    @property
    def stat(self) -> DiffStat:
        added = sum(file.added for file in self.files)
        return DiffStat(len(self.files), added, sum(file.removed for file in self.files))

    def patch(self, *, binary: bool = False) -> bytes:
        """Return the lines in the format of `git apply`; without `binary`, only if all is text."""
        return changes.patch(self.sides, self.paths, binary=binary)


def ends(text: str) -> tuple[str, str | None]:
    """Split `S@A..B`, `S@A..`, `S@..B` and `S@A..T@B`; the second is None without dots."""
    if os.path.isfile(text) or (match := _RANGE.fullmatch(text)) is None:
        return text, None
    first, second = match.groups()
    session, separator, turn = first.rpartition("@")
    if separator and "@" not in second and ":" not in second:
        second = f"{session}@{second or '-1'}"
    return (f"{session}@0" if separator and not turn else first), second


def of_turn(code: CapturedCode, turn: Turn | None, paths: Sequence[str] = ()) -> CodeDiff:
    """Return what a turn changed since its prompt, or else since the turn before."""
    conversation = code.conversation
    ref = conversation.session.ref
    if turn is None:
        raise UsageError(
            "turn 0 is before the first prompt and has no changes", hint=f"prong diff {ref}@0..1"
        )
    if turn.index is None:
        raise UsageError(
            "the turn was abandoned by a rewind: name the turn before it",
            hint=f"prong diff {ref}@A..{turn.id}",
        )
    new = point(code, turn)
    before = code.turn_before(turn)
    start = code.at_prompt(turn)
    if start is not None:
        return compared(CodePoint(conversation.session, before, start, at_prompt=True), new, paths)
    if code.at(before) is None:
        earlier = [*reversed(conversation.turns[: turn.index - 1]), None]
        numbers = [base.index if base else 0 for base in earlier if code.at(base)]
        since = f"prong diff {ref}@{numbers[0]}..{turn.index}; " if numbers else ""
        raise NotFound(
            f"no code captured at the turn before {turn.index}: its changes are unknown",
            hint=f"{since}{_INSTALL}",
        )
    return compared(point(code, before), new, paths)


def whole(code: CapturedCode, paths: Sequence[str]) -> CodeDiff:
    """Compare the earliest captured code with the latest."""
    conversation = code.conversation
    turns = [turn for turn in (None, *conversation.turns) if code.at(turn)]
    if not turns:
        raise _missing(code, None)
    old, new = point(code, turns[0]), point(code, turns[-1])
    if old == new:
        raise NotFound(f"of {old.session.ref} only the code of turn {old.name} was captured")
    notes: list[str] = []
    if old.turn is not None:
        notes.append(f"from turn {old.name} on: nothing was captured before")
    if new.turn != conversation.turns[-1]:
        notes.append(f"up to turn {new.name}: nothing was captured since")
    return compared(old, new, paths, notes)


def latest(code: CapturedCode) -> CodePoint:
    turns = code.conversation.turns
    last = next((turn for turn in reversed(turns) if code.at(turn)), None)
    return point(code, last or (turns[-1] if turns else None))


def point(code: CapturedCode, turn: Turn | None) -> CodePoint:
    snapshot = code.at(turn)
    if snapshot is None:
        raise _missing(code, turn)
    return CodePoint(code.conversation.session, turn, snapshot)


def _missing(code: CapturedCode, turn: Turn | None) -> NotFound:
    session = code.conversation.session
    if not code.snapshots:
        folder = Path(session.cwd or "")
        if session.cwd and os.path.isdir(folder) and _repository(folder) is None:
            return NotFound(f"no code captured: {folder} is not in a git repository")
        return NotFound(f"no code captured at any turn of {session.ref}", hint=_INSTALL)
    where = f"at turn {turn.index or turn.id}" if turn else "before the first turn"
    turns = (None, *code.conversation.turns)
    numbers = [(other.index or 0) if other else 0 for other in turns if code.at(other)]
    extra = f"there is code of {_spans(numbers)}; " if numbers else ""
    return NotFound(
        f"no code captured {where} of {session.ref}", hint=f"{extra}{_INSTALL}", captured=numbers
    )


def _spans(numbers: Iterable[int]) -> str:
    """Format turn numbers, as in `turns 0-3, 7`."""
    spans: list[str] = []
    for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        spans.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    is_single = len(spans) == 1 and "-" not in spans[0]
    return f"turn {spans[0]}" if is_single else f"turns {', '.join(spans)}"


def compared(
    old: CodePoint, new: CodePoint, paths: Sequence[str], notes: Iterable[str] = ()
) -> CodeDiff:
    repo = _common(old, new)
    chosen = _paths(repo, paths)
    sides, lost = changes.sides(repo, old.snapshot, new.snapshot)
    caveats = list(notes)
    for side in (old, new):
        where = "at the prompt after" if side.at_prompt else "of"
        caveats += gaps.warnings(
            gaps.of_snapshot(side.snapshot), f"the code {where} turn {side.name}"
        )
    caveats += [f"the repository in {path} cannot be compared" for path in lost]
    files = changes.files(sides, chosen)
    return CodeDiff(old, new, tuple(files), tuple(caveats), tuple(sides), chosen)


def _common(old: CodePoint, new: CodePoint) -> Path:
    """Find a working tree of a repository that has both trees."""
    repos = list(dict.fromkeys(chain(_places(new), _places(old))))
    for repo in repos:
        if changes.has(repo, old.snapshot.tree, new.snapshot.tree):
            return repo
    if not repos:
        raise NotFound(f"the repository of {new} no longer exists: {new.snapshot.repo}")
    for side in (old, new):
        if not any(changes.has(repo, side.snapshot.tree) for repo in repos):
            raise NotFound(f"the code of {side} is no longer in {side.snapshot.repo}")
    raise UsageError(
        f"{old} and {new} belong to different repositories: "
        f"{old.snapshot.repo} and {new.snapshot.repo}",
        hint="compare turns of one repository",
    )


def _places(side: CodePoint) -> Iterator[Path]:
    """Yield working trees that may have the snapshot: its own may be gone."""
    if side.snapshot.repo.is_dir():
        yield side.snapshot.repo
    folder = Path(side.session.cwd or "")
    repository = _repository(folder) if side.session.cwd and os.path.isdir(folder) else None
    if repository is not None:
        yield repository.top


def _repository(folder: Path) -> Repository | None:
    try:
        return Repository.find(folder)
    except ProngError:
        return None  # git cannot open it


def _paths(repo: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """Make paths relative to the top, from the current folder if that is in the repository."""
    current = _repository(Path.cwd()) if paths else None
    other = _repository(repo) if current else None
    start = top = repo
    if current and other and current.common_dir == other.common_dir:
        start, top = Path.cwd(), current.top
    relative = [os.path.relpath(start / path, top) for path in paths]
    for path, inside in zip(paths, relative, strict=True):
        if inside == ".." or inside.startswith("../"):
            raise UsageError(f"{path} is outside the repository {top}")
    return () if "." in relative else tuple(relative)


def pager(folder: Path) -> str | None:
    """Return the diff pager of the user, not of the repository; "" if they want none."""
    command = ("config", "-z", "--show-scope", "--get-regexp", r"^(core\.pager|pager\.diff)$")
    fields = os.fsdecode(Git(folder).ask(*command).output).split("\0")[:-1]
    settings: dict[str, str] = {}
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        name, equals, value = entry.partition("\n")
        if scope in _OF_THE_PERSON:
            settings[name] = value if equals else "true"
    for_diff = settings.get("pager.diff", "true")
    if for_diff.lower() in ("false", "no", "off", "0"):
        return ""
    if for_diff.lower() not in ("true", "yes", "on", "1", ""):
        return for_diff
    return settings.get("core.pager")
