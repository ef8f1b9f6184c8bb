"""The facts that a scan caches for each rollout file."""

import zlib
from pathlib import Path

from msgspec import Struct

from prong.agents.codex.history import Segment
from prong.agents.codex.rollout import EntryKind, Rollout, RolloutHeader
from prong.agents.codex.turns import CodexTurnCut, cut
from prong.agents.common import first_line
from prong.model.forks import SeedHeader
from prong.redaction.visible import safe


class TurnMark(Struct, array_like=True, gc=False):
    """A turn recorded in this file."""

    id: str
    ordinal: int | None
    prompt_hash: int
    """Identifies the turns that an old-style fork, a full copy, shares with its parent."""


class CodexFacts(Struct, array_like=True, gc=False):
    conversation: bool
    header: RolloutHeader
    turns: list[TurnMark]
    first_prompt: str
    name: str | None
    cwds: list[str]
    branch: str | None
    model: str | None
    started: str | None
    updated: str | None
    seed: str | None = None
    """The header of the thread's seed prompt."""


def own_turns(rollout: Rollout) -> CodexTurnCut:
    """Cut this file alone into turns."""
    return cut([Segment(Path(), rollout, rollout.entries)])


def summarise(rollout: Rollout, own: CodexTurnCut | None = None) -> CodexFacts:
    """Summarize a rollout; `own` is its turns, if already cut."""
    turn_cut = own_turns(rollout) if own is None else own
    spans = [span for span in turn_cut.active if span.prompt is not None]
    header = rollout.header or RolloutHeader()
    has_messages = any(entry.kind in (EntryKind.ITEM, EntryKind.SAID) for entry in rollout.entries)
    first_prompt = spans[0].prompt.text if spans and spans[0].prompt else ""
    seed = SeedHeader.parse(first_prompt)
    return CodexFacts(
        # A fork that was never continued has only inherited turns.
        conversation=bool(spans) or header.base is not None or (has_messages and _answers(rollout)),
        header=header,
        turns=[
            TurnMark(
                span.id,
                span.prompt.ordinal,
                zlib.crc32(span.prompt.text.encode("utf-8", "replace")),
            )
            for span in spans
            if span.prompt is not None
        ],
        first_prompt=seed.title if seed else first_line(first_prompt),
        name=rollout.name and safe(rollout.name),
        cwds=rollout.cwds,
        branch=rollout.branch,
        model=rollout.model,
        started=rollout.started,
        updated=rollout.updated,
        seed=str(seed) if seed else None,
    )


def _answers(rollout: Rollout) -> bool:
    """Check whether the model called a tool or answered, although no prompt was found."""
    return any(entry.name or entry.kind is EntryKind.SAID for entry in rollout.entries)
