"""Extract the text of each turn for the search index while a session file is read."""

import os
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from prong.agents import jsonl
from prong.agents import words as texts
from prong.agents.claude import transcript, turns
from prong.agents.claude.facts import ClaudeFacts, summarise
from prong.agents.claude.records import ContentBlock, SessionLine
from prong.agents.claude.sessions import ClaudeReader, subagents
from prong.agents.claude.transcript import LAUNCHERS, ClaudeTranscript
from prong.agents.claude.tree import Tree
from prong.agents.claude.turns import ClaudeSpan, ClaudeTurns
from prong.errors import NotFound
from prong.model.turn_text import FileTexts, Stamp, TextSink, TurnText


class _Task(Struct, gc=False):
    description: str | None = None
    prompt: str | None = None


_task = msgspec.json.Decoder(_Task).decode


class SessionWords:
    """The texts of one file, mostly undecoded JSON: they are decoded a turn at a time."""

    def __init__(self, *, output: bool) -> None:
        self.output = output
        self.said: dict[str, list[bytes]] = {}
        """Answers by line."""
        self.results: dict[str, list[bytes]] = {}
        """Tool results by line."""
        self.tasks: dict[str, str] = {}
        """Prompts of sub-agents by the call that launched them."""

    def hear(self, line: SessionLine) -> None:
        body, uuid = line.message, line.uuid
        if body is None or not uuid:
            return
        content = body.content
        if line.type == "assistant":
            answer = _answers(content)
            # If a line is written twice, the last content counts.
            if answer or uuid in self.said:
                self.said[uuid] = answer
            for block in content if isinstance(content, list) else ():
                if block.type == "tool_use" and block.name in LAUNCHERS:
                    task = jsonl.decoded(_task, block.input) or _Task()
                    prompts = (task.description or "", task.prompt or "")
                    self.tasks[block.id or ""] = texts.lines(prompts)
        elif self.output and line.type == "user" and isinstance(content, list):
            results: list[bytes] = []
            for block in content:
                if block.type == "tool_result":
                    results += texts.cut_pieces(block.content)
            if results or uuid in self.results:
                self.results[uuid] = results

    def turns(self, cut: ClaudeTurns, read: ClaudeTranscript, path: str) -> Iterator[TurnText]:
        """Yield the turns of a file, the active ones first."""
        spans = cut.active + cut.abandoned
        sidechains = self._beside(spans, read)
        agents: dict[str | None, list[Path]] = {}
        for agent in subagents(Path(path), read) if self.tasks else ():
            agents.setdefault(agent.call_id, []).append(agent.path)
        for span in spans:
            called = dict.fromkeys(call.id for node in span.nodes for call in node.calls)
            aside: list[str] = []
            for id_ in called:
                if id_ in self.tasks:
                    aside.append(texts.bounded(self.tasks[id_]))
                    aside += [_said_by(agent) for agent in agents.get(id_, ())]
            aside.append(texts.bounded(texts.decoded(sidechains.get(span.id, ()))))
            yield self._text(span, read, texts.lines(aside))

    def _text(self, span: ClaudeSpan, read: ClaudeTranscript, aside: str) -> TurnText:
        answers: list[bytes] = []
        results: list[bytes] = []
        for node in span.nodes:
            if node.uuid not in self.said:
                results += self.results.get(node.uuid, ())
            elif not node.meta:
                answers += self.said[node.uuid]
        turn = turns.describe(span, read, is_last=False)
        answer, last_answer = texts.answers(answers)
        return TurnText(
            id=span.id,
            index=span.number,
            kind=turn.kind.value,
            started=span.opener.time,
            prompt="\n".join((turn.prompt, *turn.queued)),
            answer=answer,
            last_answer=last_answer,
            files=turn.files,
            commands=tuple(command.command for command in turn.commands),
            output=texts.decoded(results),
            aside=aside,
        )

    def _beside(self, spans: list[ClaudeSpan], read: ClaudeTranscript) -> dict[str, list[bytes]]:
        """Collect what sub-agents said in old files, with their lines among those of the turn."""
        answers: dict[str, list[bytes]] = {}
        openers = sorted((span.opener.order, span.id) for span in spans)
        for node in read.nodes.values():
            if node.sidechain and node.uuid in self.said:
                number = bisect_left(openers, (node.order, ""))
                if number:
                    answers.setdefault(openers[number - 1][1], []).extend(self.said[node.uuid])
        return answers


def _answers(content: str | list[ContentBlock]) -> list[bytes]:
    if isinstance(content, str):
        return [msgspec.json.encode(content)[1:-1]] if content else []
    pieces = (texts.piece(block.text) for block in content if block.type == "text")
    return [piece for piece in pieces if piece]


def _said_by(agent: Path) -> str:
    parts: list[bytes] = []
    try:
        with jsonl.open_file(agent) as file:
            for _, _, line in jsonl.Reader(SessionLine).records(file):
                if line.type == "assistant" and line.message:
                    parts += _answers(line.message.content)
    except OSError:
        return ""
    return texts.bounded(texts.decoded(parts))


class ClaudeListener(ClaudeReader):
    """A reader for scans that also passes the text of each file to a sink."""

    def __init__(self, sink: TextSink) -> None:
        self.sink = sink
        self._words = SessionWords(output=sink.output)

    def read(self, file: BinaryIO, previous: ClaudeTranscript | None = None) -> ClaudeTranscript:
        self._words = SessionWords(output=self.sink.output)
        return transcript.read(file, previous=previous, hear=self._words.hear)

    def summarise(self, state: ClaudeTranscript, path: str, stat: os.stat_result) -> ClaudeFacts:
        tree = Tree(state)
        cut = turns.cut(tree)
        facts = summarise(tree, path, stat, cut)
        turn_texts = self._words.turns(cut, state, path) if facts.conversation else ()
        self.sink.take(FileTexts(path, Stamp.of(stat), facts.session.id, turn_texts))
        return facts


def file_texts(path: str, *, output: bool) -> FileTexts | None:
    """Extract the text of one file; None when it is gone."""
    try:
        file = jsonl.open_named(Path(path))
    except NotFound:
        return None
    sink = texts.KeptTexts(output=output)
    listener = ClaudeListener(sink)
    with file:
        stat = os.fstat(file.fileno())
        content = listener.read(file)
    listener.summarise(content, path, stat)
    return sink.texts
