"""What a scan remembers of one rollout file."""

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
    """A turn that stands in this very file."""

    id: str
    ordinal: int | None
    prompt_hash: int
    """Tells which turns an old-style fork, which is a full copy, has in common with its parent."""


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
    """The header of the seed prompt that the thread began with."""


def own_turns(rollout: Rollout) -> CodexTurnCut:
    """The turns that stand in this very file."""
    return cut([Segment(Path(), rollout, rollout.entries)])


def summarise(rollout: Rollout, own: CodexTurnCut | None = None) -> CodexFacts:
    """`own`: its turns, where they were cut already."""
    whole = own_turns(rollout) if own is None else own
    spans = [span for span in whole.active if span.prompt is not None]
    header = rollout.header or RolloutHeader()
    said = any(entry.kind in (EntryKind.ITEM, EntryKind.SAID) for entry in rollout.entries)
    first = spans[0].prompt.text if spans and spans[0].prompt else ""
    seed = SeedHeader.parse(first)
    return CodexFacts(
        # A fork that nobody has continued has no turn of its own, but inherits some.
        conversation=bool(spans) or header.base is not None or (said and _answers(rollout)),
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
        first_prompt=seed.title if seed else first_line(first),
        name=rollout.name and safe(rollout.name),
        cwds=rollout.cwds,
        branch=rollout.branch,
        model=rollout.model,
        started=rollout.started,
        updated=rollout.updated,
        seed=str(seed) if seed else None,
    )


def _answers(rollout: Rollout) -> bool:
    """True when the model called a tool or said something, though no prompt was found."""
    return any(entry.name or entry.kind is EntryKind.SAID for entry in rollout.entries)
