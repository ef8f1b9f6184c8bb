"""Facts about one Claude session file that the scan cache keeps."""

import hashlib
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice, takewhile

from msgspec import Struct

from prong.agents.claude.prompts import is_program
from prong.agents.claude.transcript import ClaudeTranscript, TranscriptNode
from prong.agents.claude.tree import Tree
from prong.agents.claude.turns import ClaudeTurns, is_opener, spans
from prong.agents.common import first_line, parse_time
from prong.model.forks import SeedHeader
from prong.model.sessions import Session, SessionRef, TurnKind
from prong.redaction.visible import safe


class ClaudeFacts(Struct, array_like=True, gc=False):
    session: Session
    """From this file alone: no title of another file, and a parent only for seeded sessions."""
    conversation: bool
    titled: bool
    summaries: dict[str, str]
    """leafUuid -> title; the leaf may be in another session."""
    keys: list[int]
    """The keys of the openers. Copied openers have equal keys."""
    times: list[int]
    """The times of the openers in milliseconds."""
    uniform: int
    """How many of the first openers share one promptId, as all that `--fork-session` copied do."""
    ends: list[int]
    """Keys of lines where the session has ended at some time; titles in other files name one."""
    forked_from: str | None
    forked: int

    def time_of(self, position: int) -> int:
        """Return the time of an opener; 0 if there is none at this position."""
        return self.times[position] if position < len(self.times) else 0

    def turns_until(self, moment: int) -> int:
        """Count the openers, from the first on, that were written by then."""
        later = (at for at, time in enumerate(self.times) if time > moment)
        return next(later, len(self.times))


def key_of(uuid: str) -> int:
    """Return half of a uuid, which is enough to tell lines apart."""
    try:
        key = bytes.fromhex(uuid[:18].replace("-", ""))
    except ValueError:
        key = b""
    # Not a uuid: hash it.
    return int.from_bytes(key if len(key) == 8 else hashlib.sha256(uuid.encode()).digest()[:8])


def summarise(
    tree: Tree,
    file: str,
    stat: os.stat_result,
    turns: ClaudeTurns | None = None,
    id_: str | None = None,
) -> ClaudeFacts:
    """Extract the facts. `turns` are those of the tree, if already split.

    The id is the file's name, unless another one is given.
    """
    transcript = tree.transcript
    lead, active = (turns.lead, turns.active) if turns else spans(tree.history, transcript)
    openers, prompts = [span.opener for span in active], [span.prompt for span in active]
    parts = [lead, *(span.nodes for span in active)]
    title = transcript.custom_title or transcript.ai_title
    copied = set(transcript.forked_uuids)
    entrypoints, cwds = transcript.entrypoints, transcript.cwds
    seed = SeedHeader.parse(prompts[0].text) if prompts else None
    # A prompt says more than a command.
    typed = (p.text for p in prompts if p.kind in (TurnKind.HUMAN, TurnKind.SDK))
    first = next(typed, prompts[0].text if prompts else "")
    alike = takewhile(lambda prompt: prompt.id is not None and prompt.id == prompts[0].id, prompts)
    session = Session(
        ref=SessionRef("claude", id_ or os.path.basename(file).removesuffix(".jsonl")),
        file=file,
        title=safe(title or "") or (seed.title if seed else first_line(first)),
        cwd=cwds[-1] if cwds else None,
        cwds=tuple(cwds),
        branch=transcript.branch,
        model=transcript.model,
        entrypoint=entrypoints[-1] if entrypoints else None,
        started=parse_time(transcript.started),
        updated=parse_time(transcript.updated) or datetime.fromtimestamp(stat.st_mtime, UTC),
        turn_count=len(openers),
        size=stat.st_size,
        parent=seed.parent.session if seed else None,
        forked_at=seed.parent.turn if seed else None,
        headless=bool(entrypoints) and all(map(is_program, entrypoints)),
    )
    return ClaudeFacts(
        session=session,
        conversation=_is_conversation(transcript),
        titled=bool(title),
        summaries={leaf: safe(summary) for leaf, summary in transcript.summaries.items()},
        keys=[key_of(node.uuid) for node in openers],
        times=[_milliseconds(node.time) for node in openers],
        uniform=len(list(alike)),
        ends=[key_of(end) for nodes in parts for end in _ends(nodes)],
        forked_from=transcript.forked_from,
        forked=sum(opener.uuid in copied for opener in openers),
    )


def _milliseconds(time: str | None) -> int:
    parsed = parse_time(time)
    return max(int(parsed.timestamp() * 1000), 0) if parsed else 0


def _ends(nodes: Sequence[TranscriptNode]) -> list[str]:
    """Return the lines where the session may have ended: the last message and the last line."""
    messages = (node.uuid for node in reversed(nodes) if node.type in ("user", "assistant"))
    return list(dict.fromkeys([*islice(messages, 1), *(node.uuid for node in nodes[-1:])]))


def _is_conversation(transcript: ClaudeTranscript) -> bool:
    """Return whether the file has a prompt or an answer; a lone /exit is neither."""
    return any(
        (node.type == "assistant" and not node.synthetic) or is_opener(node, transcript)
        for node in transcript.nodes.values()
        if not node.sidechain
    )
