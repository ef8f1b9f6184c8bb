"""Damaged copies of real sessions, as crashes, two writers and other programs leave them."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.e2e.fidelity.real_claude import CHAIN
from tests.e2e.fidelity.real_sessions import RealSession, read_lines

Lines = list[dict[str, Any]]
Damage = Callable[[random.Random, Lines], Lines]


def lost_line(rng: random.Random, lines: Lines) -> Lines:
    lost = rng.choice(_chain(lines))
    return [line for line in lines if line is not lost]


def lost_head(rng: random.Random, lines: Lines) -> Lines:
    return lines[rng.randrange(max(1, len(lines) // 2)) :]


def cut_off(rng: random.Random, lines: Lines) -> Lines:
    return lines[: rng.randrange(len(lines) // 4, len(lines)) + 1]


def swapped_lines(rng: random.Random, lines: Lines) -> Lines:
    at = rng.randrange(max(1, len(lines) - 1))
    return [*lines[:at], *reversed(lines[at : at + 2]), *lines[at + 2 :]]


def repeated_line(rng: random.Random, lines: Lines) -> Lines:
    at = rng.randrange(len(lines))
    return [*lines[:at], lines[at], *lines[at:]]


def missing_parent(rng: random.Random, lines: Lines) -> Lines:
    orphan = rng.choice(_chain(lines))
    parent = str(UUID(int=rng.getrandbits(128)))
    return [{**line, "parentUuid": parent} if line is orphan else line for line in lines]


def stray_end(rng: random.Random, lines: Lines) -> Lines:
    """A line of no meaning at the end, with the time of any other one."""
    chain = _chain(lines)
    beside = {key: rng.choice(chain).get(key) for key in ("timestamp", "sessionId", "cwd")}
    stray = {
        "type": rng.choice(("progress", "attachment", "system")),
        "subtype": "informational",
        "attachment": {"type": "date"},
        "data": {"type": "hook_progress"},
        "isSidechain": False,
        "uuid": str(UUID(int=rng.getrandbits(128))),
        "parentUuid": rng.choice((str(UUID(int=0)), rng.choice(chain)["uuid"])),
        **beside,
    }
    return [*lines, stray]


def without_checkpoints(_: random.Random, lines: Lines) -> Lines:
    return [line for line in lines if line.get("type") != "last-prompt"]


def teammates(rng: random.Random, lines: Lines) -> Lines:
    """Another agent asks instead of a person."""

    def asked(line: dict[str, Any]) -> dict[str, Any]:
        content: Any = line.get("message", {}).get("content")
        if line.get("type") != "user" or not isinstance(content, str) or content.startswith("<"):
            return line
        text = f'<teammate-message teammate_id="lead">\n{content}\n</teammate-message>'
        return {**line, "message": {**line["message"], "content": text}}

    return [asked(line) if rng.random() < 0.5 else line for line in lines]


KINDS: tuple[Damage, ...] = (
    lost_line,
    lost_head,
    cut_off,
    swapped_lines,
    repeated_line,
    missing_parent,
    stray_end,
    without_checkpoints,
    teammates,
)


def damaged(sessions: list[RealSession], folder: Path, seed: int) -> list[RealSession]:
    """A damaged copy of each session; what was done to it is its class."""
    rng = random.Random(seed)
    rng.shuffle(sessions)
    copies: list[RealSession] = []
    for number, (session, damage) in enumerate(zip(sessions, cycle(KINDS))):
        path = folder / str(number) / f"{session.id}.jsonl"
        path.parent.mkdir(parents=True)
        lines = damage(rng, list(read_lines(session.path)))
        written = (json.dumps(line, separators=(",", ":")) for line in lines)
        path.write_text("".join(f"{line}\n" for line in written), encoding="utf-8")
        copies.append(replace(session, path=path, classes=frozenset({damage.__name__})))
    return copies


def _chain(lines: Lines) -> Lines:
    return [line for line in lines if line.get("uuid") and line.get("type") in CHAIN]
