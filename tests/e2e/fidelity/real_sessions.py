"""Forks of other people's real sessions, judged by the real agents.

A `Point` is a turn of a real session. The agent itself says what it would send to the model there
(the truth); then a fork made by prong is resumed in the same folder, and both requests are
compared. What is left aside is listed in docs/internals/fork-fidelity.md.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, Self, cast


class Outcome(StrEnum):
    """What came of one fork."""

    EXACT = "exact"
    ORDER = "other order"
    CONTENT = "content differs"
    REFUSED = "refused"
    """prong (or the SDK) made no fork."""
    NOT_RESUMABLE = "not resumable"
    """The agent could not resume the fork."""
    NO_TRUTH = "no truth"
    """The agent itself cannot resume the session there, so there is nothing to compare with."""


class NotResumable(Exception):
    """The agent did not resume a session."""


@dataclass(frozen=True)
class Sent:
    """A request to the model."""

    model: str
    history: list[Any]
    """What is compared, in the order in which it is sent."""


@dataclass(frozen=True)
class RealSession:
    """One session file of the corpus."""

    path: Path
    name: str
    """The path below the corpus folder."""
    id: str
    size: int
    version: str
    classes: frozenset[str]
    """What the file contains that is easily copied wrong."""


@dataclass(frozen=True)
class Point:
    """A turn to fork at."""

    session: RealSession
    turn: int
    """From 1; 0 where prong finds no turn in the session."""
    turns: int

    @property
    def is_last(self) -> bool:
        return self.turn == self.turns

    def __str__(self) -> str:
        return f"{self.session.name}@{self.turn}/{self.turns}"


@dataclass(frozen=True)
class Verdict:
    """The outcome of one fork, with the first difference."""

    point: Point
    maker: str
    outcome: Outcome
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.maker}: {self.outcome}: {self.point}\n    {self.detail}"


@dataclass
class Table:
    """Outcomes, counted."""

    verdicts: list[Verdict] = field(default_factory=list[Verdict])

    def counts(self, maker: str, class_: str | None = None) -> Counter[Outcome]:
        return Counter(
            verdict.outcome
            for verdict in self.verdicts
            if verdict.maker == maker
            and (class_ is None or class_ in verdict.point.session.classes)
        )

    def is_exact(self, maker: str) -> bool:
        """True when every fork that can be judged is exact."""
        counts = self.counts(maker)
        return set(counts) <= {Outcome.EXACT, Outcome.NO_TRUTH} and counts[Outcome.EXACT] > 0


class Judge(Protocol):
    """A scratch home with one real session, in which the agent and prong fork it."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...

    def points(self) -> list[Point]:
        """The turns of the session."""
        ...

    def truth(self, point: Point) -> Sent:
        """What the agent itself sends; raises `NotResumable` when it cannot."""
        ...

    def judge(self, point: Point, maker: str, truth: Sent) -> Verdict:
        """Fork there, resume the fork, and compare."""
        ...


def verdicts(judge: Judge, point: Point, makers: Iterable[str]) -> Iterator[Verdict]:
    """What each maker's fork of a turn is worth."""
    try:
        truth = judge.truth(point)
    except NotResumable as error:
        yield from (Verdict(point, maker, Outcome.NO_TRUTH, str(error)) for maker in makers)
        return
    for maker in makers:
        yield judge.judge(point, maker, truth)


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a session file. Deliberately not prong's own reader."""
    decode = json.JSONDecoder().raw_decode
    for line in path.read_bytes().split(b"\n"):
        text = line.decode("utf-8", "replace").strip()
        while text.startswith("{"):
            try:
                value, end = decode(text)
            except ValueError:
                break
            yield cast(dict[str, Any], value)
            text = text[end:].strip()


def spread(points: Sequence[Point], seed: int) -> list[Point]:
    """All points in an order that visits every session once before any a second time.

    The first N of them are spread over sessions, and so over sizes and versions.
    """
    rng = random.Random(seed)
    by_session: dict[str, list[Point]] = {}
    for point in points:
        by_session.setdefault(point.session.name, []).append(point)
    for own in by_session.values():
        rng.shuffle(own)
    names = sorted(by_session)
    rng.shuffle(names)
    rounds = max(map(len, by_session.values()), default=0)
    return [
        by_session[name][number]
        for number in range(rounds)
        for name in names
        if number < len(by_session[name])
    ]


def compare(truth: Sequence[Any], sent: Sequence[Any]) -> tuple[Outcome, str]:
    """Compare two histories, each a list of JSON values in the order in which they are sent."""
    expected, actual = [dumped(item) for item in truth], [dumped(item) for item in sent]
    if expected == actual:
        return Outcome.EXACT, ""
    at = _first_difference(expected, actual)
    truth_item, fork_item = (items[at] if at < len(items) else "" for items in (expected, actual))
    shared = _first_difference(truth_item, fork_item)
    detail = (
        f"item {at} of {len(expected)} (fork: {len(actual)})\n"
        f"    truth: {_excerpt(truth_item, shared)}\n    fork:  {_excerpt(fork_item, shared)}"
    )
    same = Counter(expected) == Counter(actual)
    return (Outcome.ORDER if same else Outcome.CONTENT), detail


def _first_difference(left: Sequence[str], right: Sequence[str]) -> int:
    pairs = enumerate(zip(left, right, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(left), len(right)))


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _excerpt(item: str, at: int) -> str:
    """The beginning of an item, and what stands where it differs."""
    if not item:
        return "(nothing)"
    return item[:60] + (" ... " if at > 120 else "") + item[max(60, at - 60) : at + 200]


def markdown(tables: Iterable[tuple[str, Counter[Outcome]]]) -> str:
    """Rows of outcomes as a Markdown table."""
    columns = list(Outcome)
    lines = [f"| | pairs | {' | '.join(columns)} |", f"|---|---:|{'---:|' * len(columns)}"]
    for name, counts in tables:
        cells = [f"{counts[outcome]}" for outcome in columns]
        lines.append(f"| {name} | {counts.total()} | {' | '.join(cells)} |")
    return "\n".join(lines)
