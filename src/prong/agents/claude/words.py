"""Extract the text of each turn for the search index while a session file is read."""

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
        kind, body, uuid = line.type, line.message, line.uuid
        if body is None or not uuid:
            return
        content = body.content
        if kind == "assistant":
            answer = self._heard(content)
            # If a line is written twice, the last content counts.
            if answer or uuid in self.said:
                self.said[uuid] = answer
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
        answers: list[bytes] = []
        for block in content:
            if block.type == "text":
                if piece := texts.piece(block.text):
                    answers.append(piece)
            elif block.type == "tool_use" and block.name in LAUNCHERS:
                task = jsonl.decoded(_task, block.input) or _Task()
                self.tasks[block.id or ""] = texts.lines(
                    [task.description or "", task.prompt or ""]
                )
        return answers


class ClaudeListener:
    """A reader for scans that also passes the text of each file to a sink."""

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
        turn_texts = spoken(cut, read, self._words, path) if facts.conversation else ()
        self.sink.take(FileTexts(path, Stamp.of(stat), ref.id, turn_texts))
        return facts


def session_id(path: str) -> str:
    """Return the id of a session in a project folder: its file name."""
    return os.path.basename(path).removesuffix(".jsonl")


def spoken(
    cut: ClaudeTurnCut, read: ClaudeTranscript, words: SessionWords, path: str
) -> Iterator[TurnText]:
    """Yield the turns of a file, the active ones first."""
    spans = [span for span in cut.active if span.opener is not None] + cut.abandoned
    sidechains = _beside(spans, read, words)
    agents = _sent(Path(path), read) if words.tasks else {}
    for span in spans:
        yield _text(span, words, agents, sidechains)


def _text(
    span: ClaudeSpan,
    words: SessionWords,
    sent: dict[str, list[SubAgent]],
    beside: dict[str, list[bytes]],
) -> TurnText:
    opener = span.opener
    assert opener is not None
    assert opener.prompt is not None
    answers: list[bytes] = []
    results: list[bytes] = []
    all_answers, all_results = words.said, words.results
    for node in span.nodes:
        uuid = node.uuid
        if uuid in all_answers:
            if not node.meta:
                answers += all_answers[uuid]
        elif uuid in all_results:
            results += all_results[uuid]
    turn_work = turns.work(span)
    aside: list[str] = []
    for call in turn_work.calls if words.tasks else ():
        if call.id in words.tasks:
            aside.append(texts.bounded(words.tasks[call.id]))
            aside += [_said_by(agent) for agent in sent.get(call.id, ())]
    aside.append(texts.bounded(texts.decoded(beside.get(opener.uuid, ()))))
    answer, last_answer = texts.answers(answers)
    return TurnText(
        id=opener.uuid,
        index=span.number,
        kind=opener.prompt.kind.value,
        started=opener.time,
        prompt="\n".join((turn_work.prompt, *turn_work.queued)),
        answer=answer,
        last_answer=last_answer,
        files=turn_work.files,
        commands=tuple(command.command for command in turn_work.commands),
        output=texts.decoded(results),
        aside=texts.lines(aside),
    )


def _beside(
    spans: list[ClaudeSpan], read: ClaudeTranscript, words: SessionWords
) -> dict[str, list[bytes]]:
    """Collect what sub-agents said in old files, where their lines are among those of the turn."""
    answers: dict[str, list[bytes]] = {}
    openers = sorted((span.opener.order, span.opener.uuid) for span in spans if span.opener)
    for node in read.nodes.values():
        if node.sidechain and node.uuid in words.said:
            number = bisect_left(openers, (node.order, ""))
            if number:
                answers.setdefault(openers[number - 1][1], []).extend(words.said[node.uuid])
    return answers


def _sent(session_file: Path, read: ClaudeTranscript) -> dict[str, list[SubAgent]]:
    """Find the sub-agents with separate files, by the call that launched them."""
    agents: dict[str, list[SubAgent]] = {}
    for agent in subagents.find(session_file, read):
        agents.setdefault(agent.call_id or "", []).append(agent)
    return agents


class _Text(Struct, gc=False):
    type: str = ""
    text: Raw = NO_RAW


class _Body(Struct, gc=False):
    content: str | list[_Text] = ""


class _Line(Struct, gc=False):
    """A line of a sub-agent, with only the fields needed: there may be hundreds of files."""

    type: str = ""
    message: _Body | None = None


def _said_by(agent: SubAgent) -> str:
    parts: list[bytes] = []
    try:
        with jsonl.open_file(agent.path) as file:
            for _, _, line in jsonl.Reader(_Line).records(file):
                content = line.message.content if line.message else ""
                if line.type == "assistant" and not isinstance(content, str):
                    parts += [texts.piece(block.text) for block in content if block.type == "text"]
    except OSError:
        return ""
    return texts.bounded(texts.decoded(parts))
