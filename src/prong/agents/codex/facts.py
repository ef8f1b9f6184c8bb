"""The facts that a scan caches for each rollout file, and the sessions that they add up to.

A thread may have several files, and forks need their parents.
"""

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from prong.agents.codex import rollout
from prong.agents.codex.history import Segment
from prong.agents.codex.library import Library, rollout_id
from prong.agents.codex.rollout import EntryKind, Rollout, RolloutHeader
from prong.agents.codex.turns import CodexTurnCut, cut
from prong.agents.common import first_line, parse_time
from prong.agents.scan import FileReader, no_conversation
from prong.model.forks import SeedHeader
from prong.model.record import Record
from prong.model.sessions import Session, SessionRef, Skipped
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


def own_turns(read: Rollout) -> CodexTurnCut:
    return cut([Segment(Path(), read, read.entries)])


def summarise(read: Rollout, own: CodexTurnCut | None = None) -> CodexFacts:
    """Summarize a rollout; `own` is its turns, if already cut."""
    turn_cut = own_turns(read) if own is None else own
    spans = [span for span in turn_cut.active if span.prompt is not None]
    header = read.header or RolloutHeader()
    has_messages = any(entry.kind in (EntryKind.ITEM, EntryKind.SAID) for entry in read.entries)
    first_prompt = spans[0].prompt.text if spans and spans[0].prompt else ""
    seed = SeedHeader.parse(first_prompt)
    return CodexFacts(
        # A fork that was never continued has only inherited turns.
        conversation=bool(spans) or header.base is not None or (has_messages and _answers(read)),
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
        name=read.name and safe(read.name),
        cwds=read.cwds,
        branch=read.branch,
        model=read.model,
        started=read.started,
        updated=read.updated,
        seed=str(seed) if seed else None,
    )


def _answers(read: Rollout) -> bool:
    """Check whether the model called a tool or answered, although no prompt was found."""
    return any(entry.name or entry.kind is EntryKind.SAID for entry in read.entries)


class RolloutReader(FileReader[Rollout, CodexFacts]):
    state = Rollout
    facts = CodexFacts

    def read(self, file: BinaryIO, previous: Rollout | None = None) -> Rollout:
        return rollout.read(file, previous=previous)

    def summarise(self, state: Rollout, path: str, stat: os.stat_result) -> CodexFacts:
        return summarise(state)


class Assembly(Record, dict=True):
    """The facts of all files, combined into sessions."""

    agent: str
    library: Library
    facts_of: Callable[[str], CodexFacts | None]
    """The facts of a file, always the same; None when it cannot be read."""
    names: Mapping[str, str]

    def __post_init__(self) -> None:
        self.skipped: list[Skipped] = []

    def sessions(self) -> Iterator[Session]:
        for (_, thread), paths in self.library.threads.items():
            own = self._own(paths)
            if not own:
                continue
            path = _live(own)
            if own[path].conversation:
                yield self.session(thread, path, self.library.stats[path])
            else:
                self.skipped.append(no_conversation(path))

    def _known(self, paths: Iterable[str]) -> dict[str, CodexFacts]:
        return {path: facts for path in paths if (facts := self.facts_of(path))}

    def _own(self, paths: Iterable[str]) -> dict[str, CodexFacts]:
        # A sub-agent's file may have its parent's id in its name.
        known = self._known(paths).items()
        return {path: facts for path, facts in known if not facts.header.subagent}

    def numbers(self, path: str) -> dict[str, int]:
        """Map the ids of a file's active turns to their numbers in the session."""
        own = self._own(self.library.siblings(path))
        chain = self._chain(_live(own) if path in own else path)
        facts = next((facts for facts in chain if facts is self.facts_of(path)), None)
        own_ids = {mark.id for mark in facts.turns} if facts else set[str]()
        marks = enumerate(self._turns(chain)[0], start=1) if facts else ()
        return {mark.id: number for number, mark in marks if mark.id in own_ids}

    def session(self, thread: str, path: str, stat: os.stat_result) -> Session:
        chain = self._chain(path)
        own = chain[-1]
        marks, inherited = self._turns(chain)
        parent, forked_at = self._parent(thread, own, chain)
        if parent is not None and own.header.forked_from and own.header.base is None:
            inherited = self._copied(own, path, parent)
        updated = own.updated or next((f.updated for f in reversed(chain) if f.updated), None)
        cwds = own.cwds
        if len(chain) > 1:
            # Folders of the parent thread do not count: the fork was never there.
            own_files = [facts for facts in chain[:-1] if facts.header.id == own.header.id]
            cwds = [cwd for facts in own_files for cwd in facts.cwds if cwd not in own.cwds]
            cwds = [*dict.fromkeys(cwds), *own.cwds]
        title = self.names.get(thread) or own.name
        title = title or next((f.first_prompt for f in chain if f.first_prompt), "")
        return Session(
            ref=SessionRef(self.agent, thread),
            file=path,
            title=title,
            cwd=cwds[-1] if cwds else None,
            cwds=tuple(cwds),
            branch=own.branch,
            model=own.model or next((f.model for f in reversed(chain) if f.model), None),
            entrypoint=own.header.source,
            started=parse_time(own.started),
            updated=parse_time(updated) or datetime.fromtimestamp(stat.st_mtime, UTC),
            turn_count=len(marks),
            size=stat.st_size,
            parent=parent,
            inherited=inherited if parent else 0,
            forked_at=forked_at,
            archived=f"{os.sep}archived_sessions{os.sep}" in path,
            headless=own.header.source == "exec",
        )

    def _parent(
        self, thread: str, own: CodexFacts, chain: list[CodexFacts]
    ) -> tuple[SessionRef | None, int | None]:
        """Return the session this is a fork of, and for a seed its turn, if known."""
        # After a rewind the live file is a later segment; the first one names the parent.
        for facts in (own, *chain):
            header = facts.header
            if header.forked_from and header.forked_from != thread:
                return SessionRef(header.forked_from_agent or self.agent, header.forked_from), None
        first = next((facts for facts in chain if facts.turns), own)
        seed = SeedHeader.parse(first.seed or "")
        if seed is None or first.header.id != own.header.id:
            return None, None
        return seed.parent.session, seed.parent.turn

    def _chain(self, path: str) -> list[CodexFacts]:
        chain: dict[str, CodexFacts] = {}
        file: str | None = path
        while file is not None and file not in chain and (facts := self.facts_of(file)):
            chain[file] = facts
            base = facts.header.base
            file = self.library.find(base, beside=path) if base is not None else None
        return [*reversed(chain.values())]

    def _turns(self, chain: list[CodexFacts]) -> tuple[list[TurnMark], int]:
        """Return the turns of a chain, and how many of them come from another thread."""
        if len(chain) == 1:
            return chain[0].turns, 0
        marks = chain[0].turns
        inherited = 0
        for facts, following in pairwise(chain):
            end = following.header.base_end
            marks = [mark for mark in marks if mark.ordinal is None or mark.ordinal < end]
            if following.header.id != facts.header.id:
                inherited = len(marks)
            marks = [*marks, *following.turns]
        return marks, min(inherited, len(marks))

    def _copied(self, own: CodexFacts, path: str, parent: SessionRef) -> int:
        """Count the turns that a full-copy fork shares with its parent.

        Old forks may have the same prompts under other ids.
        """
        if parent.agent != self.agent:
            return min(own.header.forked_from_turn or 0, len(own.turns))
        known = self._known(self.library.thread(parent.id, beside=path))
        if not known:
            return 0
        marks = {p: self._turns(self._chain(p))[0] for p in known}
        parent_ids = {mark.id for turns in marks.values() for mark in turns}
        active = marks[_live(known)]
        count = 0
        for turn in own.turns:
            same = count < len(active) and turn.prompt_hash == active[count].prompt_hash
            if turn.id not in parent_ids and not same:
                break
            count += 1
        return count


def _live(files: Mapping[str, CodexFacts]) -> str:
    """Return the newest file of a thread: the one that none of its other files continues.

    Times in file names are local and may go back; those inside the files do not.
    """
    continued = {facts.header.base for facts in files.values()}
    last_files = [path for path in files if rollout_id(path) not in continued]
    return max(last_files or files, key=lambda path: (files[path].started or "", path))
