"""Which lines are the conversation: the walk from the right leaf to the root.

File order is not the conversation. The CLI follows `parentUuid` from one leaf, so a rewound
branch is dead though it stands in the file; it brings back the siblings of parallel tool calls,
which that walk would miss; and it starts at the last compaction, before which the history goes on.
"""

from bisect import bisect_right
from collections.abc import Container, Iterator, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple

from prong.agents.claude.leaf import belongs, find_leaf, is_note, speaker
from prong.agents.claude.transcript import Boundary, ClaudeTranscript, TranscriptNode
from prong.agents.common import parse_time

_NEARBY = timedelta(seconds=5)
"""How far back in time the CLI looks for a stand-in when the parent of a line is missing."""


class _Segment(NamedTuple):
    """Lines that a compaction preserved: they stand before the boundary, and are sent after it."""

    boundary: TranscriptNode
    anchor: TranscriptNode
    """The summary, behind which they are sent."""

    def is_below(self, chain: list[TranscriptNode]) -> bool:
        """True when a chain goes on behind the compaction and has not come to its summary yet."""
        return any(node.order > self.boundary.order for node in chain) and not any(
            node is self.boundary for node in chain
        )


class Tree:
    """The active conversation of one transcript, or the one that ends at a given leaf."""

    def __init__(self, transcript: ClaudeTranscript, leaf: TranscriptNode | None = None) -> None:
        self.transcript = transcript
        self.nodes = transcript.nodes
        self.leaf = leaf or find_leaf(transcript)
        chain = self._walk(self.leaf)
        chain.reverse()
        self.depths = {node.uuid: depth for depth, node in enumerate(chain)}
        """The lines that the walk passes, without the siblings of parallel tool calls."""
        self.history: list[TranscriptNode] = self._with_notes(self._with_siblings(chain))
        """The active branch from its first line on, across compactions."""

    def context(self, history: list[TranscriptNode] | None = None) -> list[TranscriptNode]:
        """What the model would get: from the last compaction on, with what that one preserved.

        Of the whole conversation, or of a part of it that begins where it begins.
        """
        history = self.history if history is None else history
        last = max((i for i, node in enumerate(history) if node.boundary), default=None)
        if last is None:
            return history
        start, after = history[last], history[last + 1 :]
        boundary = start.boundary
        assert boundary is not None
        present = {node.uuid for node in after}
        kept = [node for node in self._preserved(boundary) if node.uuid not in present]
        # The preserved lines stand before the boundary in the file, but belong behind the anchor:
        # the summary of what came before them, or, when what came after them was summarised, the
        # boundary itself.
        at = 0
        if boundary.anchor != start.uuid:
            anchors = [i for i, node in enumerate(after) if node.uuid == boundary.anchor]
            summaries = [i for i, node in enumerate(after) if node.summary]
            at = (anchors or summaries or [-1])[0] + 1
        return after[:at] + kept + after[at:]

    def _preserved(self, boundary: Boundary) -> list[TranscriptNode]:
        """The messages that a compaction kept in words, in order."""
        if boundary.preserved or boundary.head is None or boundary.tail is None:
            return [self.nodes[uuid] for uuid in boundary.preserved if uuid in self.nodes]
        # Older CLIs name only the two ends.
        segment: list[TranscriptNode] = []
        for node in self._walk(self.nodes.get(boundary.tail)):
            segment.insert(0, node)
            if node.uuid == boundary.head:
                return segment
        return []

    def abandoned(self) -> list[TranscriptNode]:
        """The lines of dead branches, in file order."""
        return self._others(self.history)

    def _others(self, chosen: list[TranscriptNode]) -> list[TranscriptNode]:
        """The lines that are not among the chosen ones, in file order."""
        if len(chosen) == len(self.nodes):
            return []
        known = {node.uuid for node in chosen}
        return [
            node for node in self.nodes.values() if not node.sidechain and node.uuid not in known
        ]

    def parent_of(
        self, node: TranscriptNode, passed: Container[str], speaker: TranscriptNode | None = None
    ) -> TranscriptNode | None:
        """The line before this one in the conversation, also across a compaction.

        `passed` are the lines that led here, `speaker` the one at which a run of progress lines
        began that did. A walk never comes to a line twice.
        """
        if node.boundary is not None and node.parent is None:
            return self._before(node, node.boundary)
        if not node.parent:
            return None
        parent = self.nodes.get(node.parent)
        if parent is not None and parent.uuid not in passed:
            return parent
        return self._nearby(speaker or node, passed)

    def _nearby(self, node: TranscriptNode, passed: Container[str]) -> TranscriptNode | None:
        """The line that the CLI takes for a parent that is missing, or that it came from.

        It is the latest line within the five seconds before; the first one if timestamps are equal.
        """
        time = parse_time(node.time)
        if time is None:
            return None
        number = bisect_right(self._by_time, time, key=itemgetter(0))
        while number and self._by_time[number - 1][0] >= time - _NEARBY:
            number -= 1
            candidate = self._by_time[number][1]
            if candidate.uuid not in passed:
                return candidate
        return None

    @cached_property
    def _by_time(self) -> list[tuple[datetime, TranscriptNode]]:
        """The lines in the order of time; of those with the same time the last one first."""
        timed = [
            (time, node)
            for node in reversed(self.nodes.values())
            if not node.sidechain
            and node.type != "progress"
            and (time := parse_time(node.time)) is not None
        ]
        return sorted(timed, key=itemgetter(0))

    def _before(self, start: TranscriptNode, boundary: Boundary) -> TranscriptNode | None:
        """Where the conversation stood when it was compacted."""
        logical = self.nodes.get(boundary.logical_parent or "")
        if boundary.partial and logical is not None:
            # The logical parent is where the summarised part meets the kept one. Both were on the
            # branch that was active then, and that is the last one written below it.
            earlier = self._earlier(start)
            return next((node for node in earlier if self.descends(node, logical)), logical)
        if logical is not None and logical is not start:
            return logical
        # It may name a line that was never written.
        tail = self.nodes.get(boundary.tail or "")
        if tail is not None and tail is not start:
            return tail
        return next(self._earlier(start), None)

    def _earlier(self, start: TranscriptNode) -> Iterator[TranscriptNode]:
        """The lines before this one in the file, the nearest first."""
        return (
            node
            for node in reversed(self.nodes.values())
            if node.order < start.order and not node.sidechain
        )

    def descends(self, node: TranscriptNode, ancestor: TranscriptNode) -> bool:
        """True when a chain of parents leads from one line to another, or to itself."""
        seen: set[str] = set()
        current: TranscriptNode | None = node
        while current is not None and current.uuid not in seen:
            if current is ancestor:
                return True
            seen.add(current.uuid)
            current = self.nodes.get(current.parent or "")
        return False

    def _walk(self, leaf: TranscriptNode | None) -> list[TranscriptNode]:
        chain: list[TranscriptNode] = []
        find, append = self.nodes.get, chain.append
        preserved = self._preserved_heads
        passed: set[str] = set()
        node = speaker = leaf
        while node is not None and node.uuid not in passed:
            append(node)
            passed.add(node.uuid)
            if preserved and (segment := preserved.get(node.uuid)) and segment.is_below(chain):
                # What was preserved stands behind the summary, and the rest before the boundary.
                append(segment.anchor)
                if segment.boundary is not segment.anchor:
                    append(segment.boundary)
            if node.type != "progress":
                speaker = node
            parent = find(node.parent or "")
            if parent is None or parent.uuid in passed:
                parent = self.parent_of(node, passed, speaker)
            node = parent
        return chain

    @cached_property
    def _preserved_heads(self) -> dict[str, "_Segment"]:
        """The first lines of what compactions preserved."""
        return {
            node.boundary.head: _Segment(node, anchor)
            for node in self.nodes.values()
            if node.boundary is not None
            and node.boundary.head in self.nodes
            and (anchor := self.nodes.get(node.boundary.anchor or "")) is not None
            and anchor.order >= node.order
        }

    def _with_siblings(self, chain: list[TranscriptNode]) -> list[TranscriptNode]:
        """Put back what parallel tool calls hung beside the chain.

        One API message is written as one line for each block. The lines of parallel calls and
        their results branch off each other, so a walk from the leaf sees only some of them.
        """
        messages, strays = self._beside(chain)
        if not messages and not strays:
            return chain
        whole: list[TranscriptNode] = []
        placed: set[str] = set()
        for node in chain:
            if node.uuid in placed:
                continue
            group = messages.get(node.message_id) if node.message_id else None
            if group is None:
                whole.append(node)
                continue
            for member in (*group, *_results_for(group, strays)):
                if member.uuid not in placed:
                    placed.add(member.uuid)
                    whole.append(member)
        return whole

    def _with_notes(self, history: list[TranscriptNode]) -> list[TranscriptNode]:
        """Put back notes that hang beside the conversation, which the CLI sends all the same.

        Such as the text of a skill that hangs to a result while the conversation continues below
        another one, and what hooks wrote behind the last answer.
        """
        children: dict[str, list[TranscriptNode]] = {}
        for node in self._others(history):
            if node.type != "progress":
                children.setdefault(self._bridged(node) or "", []).append(node)
        if not children:
            return history
        end = speaker(self.nodes, self.leaf) if self.leaf else None
        calling = {node.message_id for node in history if node.calls}
        message: str | None = None
        whole: list[TranscriptNode] = []
        ended: list[TranscriptNode] = []
        for node in history:
            whole.append(node)
            if node.type == "assistant":
                message = node.message_id if node.message_id in calling else None
            elif message is not None and not belongs(node, message):
                message = None
            if message is not None:
                for child in children.get(node.uuid, ()):
                    whole += _run_of_notes(child, children)
            if node is end or ended:
                ended.append(node)
        placed = {node.uuid for node in whole}
        return whole + [node for node in _notes_below(ended, children) if node.uuid not in placed]

    def _bridged(self, node: TranscriptNode) -> str | None:
        """The parent of a line, past the progress lines between them."""
        parent = self.nodes.get(node.parent or "")
        while parent is not None and parent.type == "progress" and parent.parent != node.uuid:
            node, parent = parent, self.nodes.get(parent.parent or "")
        return node.parent

    def _beside(
        self, chain: list[TranscriptNode]
    ) -> tuple[dict[str, list[TranscriptNode]], dict[str, TranscriptNode]]:
        """The lines of messages that do not stand whole in the chain; results beside it by call."""
        beside = self._others(chain)
        strays = {result.id: node for node in reversed(beside) for result in node.results}
        if strays:
            for node in chain:
                for result in node.results:
                    strays.pop(result.id, None)
        split, seen = _split(chain, strays)
        split.update(node.message_id or "" for node in beside if node.message_id in seen)
        messages: dict[str, list[TranscriptNode]] = {id_: [] for id_ in split}
        if split:
            for node in self.nodes.values():
                if node.message_id in split and not node.sidechain:
                    messages[node.message_id or ""].append(node)
        return messages, strays


def _split(
    chain: list[TranscriptNode], strays: dict[str, TranscriptNode]
) -> tuple[set[str], set[str]]:
    """Which messages do not stand whole in the chain, and all that are in it."""
    split: set[str] = set()
    seen: set[str] = set()
    previous: str | None = None
    for node in chain:
        id_ = node.message_id
        if id_ is not None and id_ != previous:
            # A result may stand between two calls of one message; all are sent before it.
            if id_ in seen:
                split.add(id_)
            seen.add(id_)
        previous = id_
    if strays:
        for node in chain:
            for call in node.calls:
                if call.id in strays and node.message_id is not None:
                    split.add(node.message_id)
    return split, seen


def _results_for(
    group: list[TranscriptNode], results: dict[str, TranscriptNode]
) -> Iterator[TranscriptNode]:
    for node in group:
        for call in node.calls:
            if call.id in results:
                yield results[call.id]


def _run_of_notes(
    first: TranscriptNode, children: Mapping[str, list[TranscriptNode]]
) -> list[TranscriptNode]:
    """A line and those below it, if all are notes and each has one below it at most."""
    run: list[TranscriptNode] = []
    below = [first]
    while below:
        if len(below) > 1 or not is_note(below[0]) or below[0] in run:
            return []
        run += below
        below = children.get(below[0].uuid, [])
    return run


def _notes_below(
    nodes: list[TranscriptNode], children: Mapping[str, list[TranscriptNode]]
) -> list[TranscriptNode]:
    """The attachments and system lines that hang below some lines."""
    below: dict[str, TranscriptNode] = {}
    waiting = list(nodes)
    while waiting:
        for child in children.get(waiting.pop(0).uuid, ()):
            if child.type in ("attachment", "system") and child.uuid not in below:
                below[child.uuid] = child
                waiting.append(child)
    return list(below.values())
