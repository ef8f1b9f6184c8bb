"""Collect the text of each turn while a rollout file is read.

Turn numbers may depend on other files: on the one that a fork continues, or on a rewind's.
Sub-agents have files of their own. Such texts are kept in memory until all files are read; when
they exceed a limit, the file is read again instead.
"""

import os
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
from msgspec import Raw, Struct

from prong.agents import jsonl
from prong.agents import words as texts
from prong.agents.codex import fields, rollout, turns
from prong.agents.codex.facts import Assembly, CodexFacts, RolloutReader, own_turns, summarise
from prong.agents.codex.library import Library, RolloutName
from prong.agents.codex.records import BARE_ITEMS, Payload, RolloutLine
from prong.agents.codex.rollout import EntryKind, Rollout
from prong.agents.codex.turns import CodexSpan, CodexTurnCut
from prong.model.turn_text import FileTexts, Stamp, TextSink, TurnText

_SPAWN = "spawn_agent"
_MOST_KEPT = 32 << 20
_AN_ENTRY = 512
"""Approximate size in bytes of an entry without its text."""


class _Arguments(Struct, gc=False):
    message: str | None = None
    prompt: str | None = None


_arguments = msgspec.json.Decoder(_Arguments).decode


class RolloutWords:
    """Texts of one file's lines by offset, still JSON-encoded."""

    def __init__(self, *, output: bool) -> None:
        self.output = output
        self.said: dict[int, list[bytes]] = {}
        self.told: dict[int, list[bytes]] = {}
        """Answers from events, used for files without items."""
        self.results: dict[int, list[bytes]] = {}
        self.tasks: dict[int, str] = {}
        """The prompts of sub-agents."""
        self.sent = False
        """Whether there are any sub-agents."""

    def hear(self, line: RolloutLine, offset: int) -> None:
        payload = line.payload
        if payload is None:
            if line.type in BARE_ITEMS:
                self._hear_item(line, offset)
        elif line.type == "response_item":
            self._hear_item(payload, offset)
        elif line.type == "event_msg":
            self._hear_event(payload, offset)

    def _hear_item(self, item: Payload, offset: int) -> None:
        match item.type:
            case "message" if item.role == "assistant":
                if answer := texts.pieces(item.content):
                    self.said[offset] = answer
            case "function_call_output" | "custom_tool_call_output":
                if self.output:
                    self.results[offset] = _result(item.output)
            case "function_call" if item.name == _SPAWN:
                self.sent = True
                arguments = fields.string_of(item.arguments).encode("utf-8", "replace")
                task = jsonl.decoded(_arguments, arguments) or _Arguments()
                self.tasks[offset] = task.message or task.prompt or ""
            case _:
                pass

    def _hear_event(self, event: Payload, offset: int) -> None:
        item = event.item if event.type == "item_completed" else None
        match item.type if item else event.type:
            case "agent_message" if not item and not self.said:
                self.told[offset] = texts.pieces(event.message)
            case "AgentMessage" if item and not self.said:
                self.told[offset] = texts.pieces(item.content)
            case "sub_agent_activity" if not item:
                self.sent = True
            case "CollabAgentToolCall" if item:
                self.sent = True
                self.tasks[offset] = fields.string_of(item.prompt)
            case _:
                pass

    @property
    def size(self) -> int:
        pieces = (*self.said.values(), *self.told.values(), *self.results.values())
        return sum(map(len, chain.from_iterable(pieces))) + sum(map(len, self.tasks.values()))

    def answers(self, read: Rollout) -> Mapping[int, list[bytes]]:
        """Return the agent's answers; events only repeat the items of a file that has them."""
        has_items = any(entry.kind is EntryKind.ITEM for entry in read.entries)
        return self.said if has_items else self.told

    def said_in(self, read: Rollout) -> str:
        """Return a sub-agent's answers, without the older lines copied from its parent."""
        answers = self.answers(read)
        pieces = [
            piece
            for entry in read.entries
            if not (entry.time and read.started and entry.time < read.started)
            for piece in answers.get(entry.place.offset, ())
        ]
        return texts.bounded(texts.decoded(pieces))


def _result(output: Raw) -> list[bytes]:
    pieces = texts.cut_pieces(output)
    if pieces and pieces[0].startswith(b'{\\"output\\":'):
        # Older versions put JSON into the string.
        return [piece.replace(rb"\\n", rb"\n").replace(rb"\\t", rb"\t") for piece in pieces]
    return pieces


class _Heard(NamedTuple):
    """A file that was read, whose turns may have no numbers yet."""

    path: str
    stamp: Stamp
    thread: str
    own: CodexTurnCut
    words: RolloutWords
    answers: Mapping[int, list[bytes]]


class CodexListener(RolloutReader):
    """A reader of rollout files for a scan, which passes the text of each turn to a sink."""

    def __init__(self, sink: TextSink, library: Library) -> None:
        self.sink = sink
        self.library = library
        self.waiting: list[_Heard] = []
        self._kept = 0
        """Approximate size in bytes of `waiting`."""
        self._again: list[str] = []
        """Files over the limit, to be read again."""
        self._words = RolloutWords(output=sink.output)
        self._agents: dict[str, str] = {}
        """The answers of sub-agents, by file."""
        self._heard: dict[str, CodexFacts] = {}

    def read(self, file: BinaryIO, previous: Rollout | None = None) -> Rollout:
        self._words = RolloutWords(output=self.sink.output)
        return rollout.read(file, previous=previous, hear=self._words.hear)

    def summarise(self, state: Rollout, path: str, stat: os.stat_result) -> CodexFacts:
        words, own = self._words, own_turns(state)
        facts = self._heard[path] = summarise(state, own)
        name = RolloutName.parse(os.path.basename(path))
        thread = name.thread if name else facts.header.id or Path(path).stem
        heard = _Heard(path, Stamp.of(stat), thread, own, words, words.answers(state))
        is_alone = len(self.library.thread(thread, beside=path)) <= 1 and not facts.header.base
        if facts.header.subagent:
            self._agents[path] = words.said_in(state)
        if facts.header.subagent or not facts.conversation:
            self.sink.take(FileTexts(path, heard.stamp, thread, ()))
        elif is_alone and not words.sent:
            numbers = {mark.id: number for number, mark in enumerate(facts.turns, start=1)}
            self._give(heard, numbers)
        else:
            size = words.size + sum(len(entry.text) + _AN_ENTRY for entry in state.entries)
            # Always keep one: it is in memory anyway.
            if self.waiting and self._kept + size > _MOST_KEPT:
                self._again.append(path)
            else:
                self._kept += size
                self.waiting.append(heard)
        return facts

    def finish(self, assembly: Assembly) -> None:
        """Pass on the texts that waited for the facts of all files."""
        while self.waiting:
            heard = self.waiting.pop(0)
            self._give(heard, assembly.numbers(heard.path))

    def unread(self, known: Mapping[str, object]) -> list[str]:
        """Return files to read again: those over the limit, and those with new turn numbers.

        A rewind continues in a new file and abandons turns in an old one that does not change.
        """
        siblings: dict[str, None] = {}
        for path, facts in self._heard.items():
            if facts.header.base is not None and path not in known:
                siblings.update(dict.fromkeys(self.library.siblings(path)))
        return [*self._again, *(path for path in siblings if path not in self._heard)]

    def _give(self, heard: _Heard, numbers: Mapping[str, int]) -> None:
        turn_texts = self._turns(heard, numbers)
        self.sink.take(FileTexts(heard.path, heard.stamp, heard.thread, turn_texts))

    def _turns(self, heard: _Heard, numbers: Mapping[str, int]) -> Iterator[TurnText]:
        seen: set[str] = set()
        for span in (*heard.own.active, *heard.own.rolled_back):
            if span.prompt is None:
                continue
            answer_parts: list[bytes] = []
            output_parts: list[bytes] = []
            entries = span.entries
            for entry in entries:
                offset = entry.place.offset
                if offset in heard.answers:
                    answer_parts += heard.answers[offset]
                elif offset in heard.words.results:
                    output_parts += heard.words.results[offset]
            answer, last_answer = texts.answers(answer_parts)
            files, commands = turns.work(entries)
            yield TurnText(
                id=span.id,
                index=numbers.get(span.id),
                kind=span.kind.value,
                started=min((entry.time for entry in entries if entry.time), default=None),
                prompt="\n".join((span.prompt.text, *span.queued)),
                answer=answer,
                last_answer=last_answer,
                files=files,
                commands=tuple(command.command for command in commands),
                output=texts.decoded(output_parts),
                aside=texts.lines(self._aside(span, heard, seen) if heard.words.sent else ()),
            )

    def _aside(self, span: CodexSpan, heard: _Heard, seen: set[str]) -> Iterator[str]:
        """Yield each sub-agent's prompt, and its answers when it first occurs."""
        tasks: set[str] = set()
        for entry in span.entries:
            task = heard.words.tasks.get(entry.place.offset)
            if task and task not in tasks:
                tasks.add(task)
                yield texts.bounded(task)
            for agent in entry.agents:
                if agent not in seen:
                    seen.add(agent)
                    yield self._said_by(agent, heard.path)

    def _said_by(self, agent: str, beside: str) -> str:
        path = next(reversed(self.library.thread(agent, beside=beside)), None)
        if path is None or path == beside:
            return ""
        if path not in self._agents:
            # Unchanged, so this scan has not read it.
            words = RolloutWords(output=False)
            try:
                with jsonl.open_file(Path(path)) as file:
                    read = rollout.read(file, hear=words.hear)
            except OSError:
                read = Rollout()
            is_agent = read.header is not None and read.header.subagent
            self._agents[path] = words.said_in(read) if is_agent else ""
        return self._agents[path]
