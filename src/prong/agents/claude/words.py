"""The words of a session file, turn by turn, heard while the file is read."""

import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Raw, Struct

from prong.agents import jsonl
from prong.agents import words as texts
from prong.agents.claude import subagents, transcript, turns
from prong.agents.claude.facts import ClaudeFacts, summarise
from prong.agents.claude.records import NO_RAW, ContentBlock, SessionLine
from prong.agents.claude.transcript import LAUNCHERS, ClaudeTranscript
from prong.agents.claude.tree import Tree
from prong.agents.claude.turns import ClaudeSpan, ClaudeTurnCut
from prong.model.sessions import SessionRef, SubAgent
from prong.model.turn_text import FileTexts, Stamp, TextSink, TurnText


class _Task(Struct, gc=False):
    description: str | None = None
    prompt: str | None = None


_task = msgspec.json.Decoder(_Task).decode


class SessionWords:
    """What the lines of one file say, still as JSON: most of it is decoded a turn at a time."""

    def __init__(self, *, output: bool) -> None:
        self.output = output
        self.said: dict[str, list[bytes]] = {}
        """What the agent said, by line."""
        self.results: dict[str, list[bytes]] = {}
        """What tools gave back, by line."""
        self.tasks: dict[str, str] = {}
        """What sub-agents were asked, by the call that launched them."""

    def hear(self, line: SessionLine) -> None:
        kind, body, uuid = line.type, line.message, line.uuid
        if body is None or not uuid:
            return
        content = body.content
        if kind == "assistant":
            said = self._heard(content)
            # A line that is written twice has its last content.
            if said or uuid in self.said:
                self.said[uuid] = said
        elif self.output and kind == "user" and isinstance(content, list):
            results: list[bytes] = []
            for block in content:
                if block.type == "tool_result":
                    results += texts.cut_pieces(block.content)
            if results or uuid in self.results:
                self.results[uuid] = results

    def _heard(self, content: str | list[ContentBlock]) -> list[bytes]:
        if isinstance(content, str):
            return [msgspec.json.encode(content)[1:-1]] if content else []
        said: list[bytes] = []
        for block in content:
            if block.type == "text":
                if piece := texts.piece(block.text):
                    said.append(piece)
            elif block.type == "tool_use" and block.name in LAUNCHERS:
                task = jsonl.decoded(_task, block.input) or _Task()
                self.tasks[block.id or ""] = texts.lines(
                    [task.description or "", task.prompt or ""]
                )
        return said


class ClaudeListener:
    """Reads files for a scan, and gives what is said in them to a sink."""

    def __init__(self, sink: TextSink) -> None:
        self.sink = sink
        self._words = SessionWords(output=sink.output)

    def expect(self, files: Sequence[tuple[str, os.stat_result]]) -> None:
        self.sink.expect({path: Stamp.of(stat) for path, stat in files})

    def wants(self, path: str, stat: os.stat_result) -> bool:
        return self.sink.wants(path, Stamp.of(stat))

    def read(self, file: BinaryIO) -> ClaudeTranscript:
        self._words = SessionWords(output=self.sink.output)
        return transcript.read(file, hear=self._words.hear)

    def summarise(self, read: ClaudeTranscript, path: str, stat: os.stat_result) -> ClaudeFacts:
        tree = Tree(read)
        cut = turns.cut(tree)
        ref = SessionRef("claude", session_id(path))
        facts = summarise(tree, ref, path, stat, cut.active)
        said = spoken(cut, read, self._words, path) if facts.conversation else ()
        self.sink.take(FileTexts(path, Stamp.of(stat), ref.id, said))
        return facts


def session_id(path: str) -> str:
    """The file name is the identity of a session that lies in its folder."""
    return os.path.basename(path).removesuffix(".jsonl")


def spoken(
    cut: ClaudeTurnCut, read: ClaudeTranscript, words: SessionWords, path: str
) -> Iterator[TurnText]:
    """The turns of a file, the active ones first."""
    spans = [span for span in cut.active if span.opener is not None] + cut.abandoned
    beside = _beside(spans, read, words)
    sent = _sent(Path(path), read) if words.tasks else {}
    for span in spans:
        yield _text(span, words, sent, beside)


def _text(
    span: ClaudeSpan,
    words: SessionWords,
    sent: dict[str, list[SubAgent]],
    beside: dict[str, list[bytes]],
) -> TurnText:
    opener = span.opener
    assert opener is not None
    assert opener.prompt is not None
    said: list[bytes] = []
    results: list[bytes] = []
    heard, given = words.said, words.results
    for node in span.nodes:
        uuid = node.uuid
        if uuid in heard:
            if not node.meta:
                said += heard[uuid]
        elif uuid in given:
            results += given[uuid]
    work = turns.work(span)
    aside: list[str] = []
    for call in work.calls if words.tasks else ():
        if call.id in words.tasks:
            aside.append(texts.bounded(words.tasks[call.id]))
            aside += [_said_by(agent) for agent in sent.get(call.id, ())]
    aside.append(texts.bounded(texts.decoded(beside.get(opener.uuid, ()))))
    answer, last_answer = texts.answers(said)
    return TurnText(
        id=opener.uuid,
        index=span.number,
        kind=opener.prompt.kind.value,
        started=opener.time,
        prompt="\n".join((work.prompt, *work.queued)),
        answer=answer,
        last_answer=last_answer,
        files=work.files,
        commands=tuple(command.command for command in work.commands),
        output=texts.decoded(results),
        aside=texts.lines(aside),
    )


def _beside(
    spans: list[ClaudeSpan], read: ClaudeTranscript, words: SessionWords
) -> dict[str, list[bytes]]:
    """What sub-agents said in older files, where their lines stand between those of the turn."""
    found: dict[str, list[bytes]] = {}
    openers = sorted((span.opener.order, span.opener.uuid) for span in spans if span.opener)
    for node in read.nodes.values():
        if node.sidechain and node.uuid in words.said:
            number = bisect_left(openers, (node.order, ""))
            if number:
                found.setdefault(openers[number - 1][1], []).extend(words.said[node.uuid])
    return found


def _sent(session_file: Path, read: ClaudeTranscript) -> dict[str, list[SubAgent]]:
    """The sub-agents that have files of their own, by the call that launched them."""
    found: dict[str, list[SubAgent]] = {}
    for agent in subagents.find(session_file, read):
        found.setdefault(agent.call_id or "", []).append(agent)
    return found


class _Text(Struct, gc=False):
    type: str = ""
    text: Raw = NO_RAW


class _Body(Struct, gc=False):
    content: str | list[_Text] = ""


class _Line(Struct, gc=False):
    """A line of a sub-agent, as far as it is heard: there may be hundreds of such files."""

    type: str = ""
    message: _Body | None = None


def _said_by(agent: SubAgent) -> str:
    said: list[bytes] = []
    try:
        with jsonl.open_file(agent.path) as file:
            for _, _, line in jsonl.Reader(_Line).records(file):
                content = line.message.content if line.message else ""
                if line.type == "assistant" and not isinstance(content, str):
                    said += [texts.piece(block.text) for block in content if block.type == "text"]
    except OSError:
        return ""
    return texts.bounded(texts.decoded(said))
