"""Collect the text of each turn while a rollout file is read.

Turn numbers may depend on other files: on the one that a fork continues, or on a rewind's.
Sub-agents have files of their own. Such texts are kept in memory until all files are read; when
they exceed a limit, the file is read again instead.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
from msgspec import Raw, Struct

from prong.agents import jsonl
from prong.agents import words as texts
from prong.agents.codex import rollout, tools, turns
from prong.agents.codex.assembly import Assembly
from prong.agents.codex.facts import CodexFacts, own_turns, summarise
from prong.agents.codex.library import Library, RolloutName
from prong.agents.codex.records import BARE_ITEMS, Payload, RolloutLine
from prong.agents.codex.rollout import EntryKind, Rollout, RolloutEntry
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
                arguments = tools.string_of(item.arguments).encode("utf-8", "replace")
                task = jsonl.decoded(_arguments, arguments) or _Arguments()
                self.tasks[offset] = task.message or task.prompt or ""
            case _:
                pass

    def _hear_event(self, event: Payload, offset: int) -> None:
        if event.type == "agent_message":
            if not self.said:
                self.told[offset] = texts.pieces(event.message)
        elif event.type == "sub_agent_activity":
            self.sent = True
        elif event.type == "item_completed" and event.item is not None:
            item = event.item
            if item.type == "AgentMessage" and not self.said:
                self.told[offset] = texts.pieces(item.content)
            elif item.type == "CollabAgentToolCall":
                self.sent = True
                self.tasks[offset] = tools.string_of(item.prompt)

    @property
    def size(self) -> int:
        """Number of bytes held."""
        pieces = (*self.said.values(), *self.told.values(), *self.results.values())
        return sum(map(len, chain.from_iterable(pieces))) + sum(map(len, self.tasks.values()))

    def by(self, entries: list[RolloutEntry]) -> Mapping[int, list[bytes]]:
        """Return the agent's answers; events only repeat the items of a file that has them."""
        return self.said if any(entry.kind is EntryKind.ITEM for entry in entries) else self.told


def _result(output: Raw) -> list[bytes]:
    pieces = texts.cut_pieces(output)
    if pieces and pieces[0].startswith(b'{\\"output\\":'):
        # Older versions put JSON into the string.
        return [piece.replace(rb"\\n", rb"\n").replace(rb"\\t", rb"\t") for piece in pieces]
    return pieces


class _Heard(NamedTuple):
    """A file whose turns cannot be numbered yet."""

    path: str
    stamp: Stamp
    own: CodexTurnCut
    words: RolloutWords
    by: Mapping[int, list[bytes]]
    """The agent's answers."""


class CodexListener:
    """A reader of rollout files for a scan, which passes the text of each turn to a sink."""

    def __init__(self, sink: TextSink, library: Library) -> None:
        self.sink = sink
        self.library = library
        self.waiting: list[_Heard] = []
        self._kept = 0
        """Approximate size in bytes of `waiting`."""
        self._again: list[tuple[str, Stamp]] = []
        """Files over the limit, to be read again."""
        self._words = RolloutWords(output=sink.output)
        self._agents: dict[str, str] = {}
        """The answers of sub-agents, by file."""
        self._facts: Mapping[str, CodexFacts] = {}
        self._heard: dict[str, CodexFacts] = {}

    def expect(self, files: Sequence[tuple[str, os.stat_result]]) -> None:
        self.sink.expect({path: Stamp.of(stat) for path, stat in files})

    def wants(self, path: str, stat: os.stat_result) -> bool:
        return self.sink.wants(path, Stamp.of(stat))

    def read(self, file: BinaryIO) -> Rollout:
        self._words = RolloutWords(output=self.sink.output)
        return rollout.read(file, hear=self._words.hear)

    def summarise(self, read: Rollout, path: str, stat: os.stat_result) -> CodexFacts:
        turn_cut = own_turns(read)
        facts = summarise(read, turn_cut)
        self._heard[path] = facts
        words = self._words
        heard = self._hear(read, turn_cut, path, Stamp.of(stat))
        if facts.header.subagent:
            self._agents[path] = _said_in(read, self._words)
        if facts.header.subagent or not facts.conversation:
            self.sink.take(FileTexts(path, heard.stamp, _thread(path, facts), ()))
        elif self._is_alone(facts, path) and not words.sent:
            numbers = {mark.id: number for number, mark in enumerate(facts.turns, start=1)}
            self._give(heard, facts, numbers)
        else:
            size = words.size + sum(len(entry.text) + _AN_ENTRY for entry in read.entries)
            # Always keep one: it is in memory anyway.
            if self.waiting and self._kept + size > _MOST_KEPT:
                self._again.append((path, heard.stamp))
            else:
                self._kept += size
                self.waiting.append(heard)
        return facts

    def _hear(self, read: Rollout, own: CodexTurnCut, path: str, stamp: Stamp) -> _Heard:
        return _Heard(path, stamp, own, self._words, self._words.by(read.entries))

    def _is_alone(self, facts: CodexFacts, path: str) -> bool:
        """Check that the numbers of a file's turns depend on no other file."""
        thread = self.library.thread(_thread(path, facts), beside=path)
        return len(thread) <= 1 and facts.header.base is None

    def finish(self, assembly: Assembly) -> None:
        """Pass on the texts that waited for the facts of all files."""
        self._facts = assembly.facts
        while self.waiting:
            heard = self.waiting.pop(0)
            self._give(heard, assembly.facts[heard.path], assembly.numbers(heard.path))
        for path, stamp in self._again:
            try:
                with jsonl.open_file(Path(path)) as file:
                    read = self.read(file)
            except OSError:
                continue  # It was deleted: the next scan will notice.
            # Keep the old stamp, so that a file that has grown since is read again next time.
            heard = self._hear(read, own_turns(read), path, stamp)
            self._give(heard, assembly.facts[path], assembly.numbers(path))

    def renumbered(self, known: Mapping[str, object]) -> list[str]:
        """Return unread files whose turns may have new numbers.

        A rewind continues in a new file and abandons turns in an old one that does not change.
        """
        siblings: dict[str, None] = {}
        for path, facts in self._heard.items():
            if facts.header.base is not None and path not in known:
                thread = self.library.thread(_thread(path, facts), beside=path)
                siblings.update(dict.fromkeys(thread))
        return [path for path in siblings if path not in self._heard]

    def _give(self, heard: _Heard, facts: CodexFacts, numbers: Mapping[str, int]) -> None:
        turns = _spoken(heard, numbers, lambda agent: self._said_by(agent, heard.path))
        texts = FileTexts(heard.path, heard.stamp, _thread(heard.path, facts), turns)
        self.sink.take(texts)

    def _said_by(self, agent: str, beside: str) -> str:
        paths = self.library.thread(agent, beside=beside)
        path = paths[-1] if paths else None
        if path is None or path == beside:
            return ""
        if path in self._facts and not self._facts[path].header.subagent:
            return ""
        if path not in self._agents:
            # Unchanged, so this scan has not read it.
            self._agents[path] = _said_in_file(path)
        return self._agents[path]


def _thread(path: str, facts: CodexFacts) -> str:
    name = RolloutName.parse(os.path.basename(path))
    return name.thread if name else facts.header.id or Path(path).stem


def _said_in_file(path: str) -> str:
    words = RolloutWords(output=False)
    try:
        with jsonl.open_file(Path(path)) as file:
            read = rollout.read(file, hear=words.hear)
    except OSError:
        return ""
    is_agent = read.header is not None and read.header.subagent
    return _said_in(read, words) if is_agent else ""


def _said_in(read: Rollout, words: RolloutWords) -> str:
    """Return a sub-agent's answers, without the older lines copied from its parent."""
    answers = words.by(read.entries)
    return texts.bounded(
        texts.decoded(
            [
                piece
                for entry in read.entries
                if not (entry.time and read.started and entry.time < read.started)
                for piece in answers.get(entry.place.offset, ())
            ]
        )
    )


def _spoken(
    heard: _Heard, numbers: Mapping[str, int], said_by: Callable[[str], str]
) -> Iterator[TurnText]:
    """Yield the turns in a file, the active ones first."""
    seen: set[str] = set()
    for span in (*heard.own.active, *heard.own.rolled_back):
        if span.prompt is not None:
            aside = _aside(span, heard.words, seen, said_by) if heard.words.sent else ()
            yield _text(span, span.prompt.text, heard, numbers, aside)


def _aside(
    span: CodexSpan, words: RolloutWords, met: set[str], said_by: Callable[[str], str]
) -> Iterator[str]:
    """Yield each sub-agent's prompt, and its answers when it first occurs."""
    tasks: set[str] = set()
    for _, entry in span.pieces:
        task = words.tasks.get(entry.place.offset)
        if task and task not in tasks:
            tasks.add(task)
            yield texts.bounded(task)
        for agent in entry.agents:
            if agent not in met:
                met.add(agent)
                yield said_by(agent)


def _text(
    span: CodexSpan, prompt: str, heard: _Heard, numbers: Mapping[str, int], aside: Iterable[str]
) -> TurnText:
    entries = span.entries
    answers, results = heard.by, heard.words.results
    answer_parts: list[bytes] = []
    output_parts: list[bytes] = []
    for entry in entries:
        offset = entry.place.offset
        if offset in answers:
            answer_parts += answers[offset]
        elif offset in results:
            output_parts += results[offset]
    answer, last_answer = texts.answers(answer_parts)
    work = turns.work(entries)
    return TurnText(
        id=span.id,
        index=numbers.get(span.id),
        kind=turns.kind_of(span).value,
        started=min((entry.time for entry in entries if entry.time), default=None),
        prompt="\n".join((prompt, *span.queued)),
        answer=answer,
        last_answer=last_answer,
        files=work.files,
        commands=tuple(command.command for command in work.commands),
        output=texts.decoded(output_parts),
        aside=texts.lines(aside),
    )
