"""Find the active conversation: walk from the right leaf to the root.

File order is not the conversation. The CLI follows `parentUuid` from one leaf, so rewound branches
stay in the file but are dead. It adds the siblings of parallel tool calls, which that walk misses.
The context starts at the last compaction; the history continues before it.
"""

from bisect import bisect_right
from collections.abc import Container, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from itertools import dropwhile
from operator import itemgetter

from prong.agents.claude.leaf import belongs, descends, find_leaf, is_note, speaker
from prong.agents.claude.transcript import Boundary, ClaudeTranscript, TranscriptNode
from prong.agents.common import parse_time

_NEARBY = timedelta(seconds=5)
"""How far back the CLI looks for a substitute when the parent of a line is missing."""


class Tree:
    """The active conversation of a transcript, or the one that ends at a given leaf."""

    def __init__(self, transcript: ClaudeTranscript, leaf: TranscriptNode | None = None) -> None:
        self.transcript = transcript
        self.nodes = transcript.nodes
        self.leaf = leaf or find_leaf(transcript)
        chain = self._walk(self.leaf)
        chain.reverse()
        self.depths = {node.uuid: depth for depth, node in enumerate(chain)}
        """The lines of the walk, without the siblings of parallel tool calls."""
        self.history: list[TranscriptNode] = self._with_notes(self._with_siblings(chain))
        """The active branch from its first line, across compactions."""

    def context(self, history: list[TranscriptNode] | None = None) -> list[TranscriptNode]:
        """Return what the model would get: lines after the last compaction, and those it preserved.

        `history` may be any initial part of the conversation.
        """
        history = self.history if history is None else history
        last = max((i for i, node in enumerate(history) if node.boundary), default=None)
        if last is None:
            return history
        start, after = history[last], history[last + 1 :]
        boundary = start.boundary
        assert boundary is not None
        present = {node.uuid for node in after}
        preserved = [node for node in self._preserved(boundary) if node.uuid not in present]
        # Preserved lines precede the boundary in the file, but belong after the anchor: the summary
        # of what came before them or, if what came after them was summarized, the boundary itself.
        at = 0
        if boundary.anchor != start.uuid:
            anchors = [i for i, node in enumerate(after) if node.uuid == boundary.anchor]
            summaries = [i for i, node in enumerate(after) if node.summary]
            at = (anchors or summaries or [-1])[0] + 1
        return after[:at] + preserved + after[at:]

    def _preserved(self, boundary: Boundary) -> list[TranscriptNode]:
        """Return the messages that a compaction kept verbatim, in order."""
        if boundary.preserved or boundary.head is None or boundary.tail is None:
            return [self.nodes[uuid] for uuid in boundary.preserved if uuid in self.nodes]
        # Old CLIs record only the two ends.
        segment: list[TranscriptNode] = []
        for node in self._walk(self.nodes.get(boundary.tail)):
            segment.insert(0, node)
            if node.uuid == boundary.head:
                return segment
        return []

    def others(self, chosen: list[TranscriptNode] | None = None) -> list[TranscriptNode]:
        """Return the lines outside the history, or outside some lines, in file order."""
        chosen = self.history if chosen is None else chosen
        if len(chosen) == len(self.nodes):
            return []
        uuids = {node.uuid for node in chosen}
        return [
            node for node in self.nodes.values() if not node.sidechain and node.uuid not in uuids
        ]

    def parent_of(
        self, node: TranscriptNode, passed: Container[str], speaker: TranscriptNode | None = None
    ) -> TranscriptNode | None:
        """Return the line before this one in the conversation, also across a compaction.

        `passed` are the lines walked so far, which are never returned again. `speaker` is the line
        at which a run of progress lines began, if any.
        """
        parent = self.nodes.get(node.parent or "")
        if parent is not None and parent.uuid not in passed:
            return parent
        if node.boundary is not None and node.parent is None:
            return self._before(node, node.boundary)
        return self._nearby(speaker or node, passed) if node.parent else None

    def _nearby(self, node: TranscriptNode, passed: Container[str]) -> TranscriptNode | None:
        """Return the line that replaces a parent that is missing or already passed, as in the CLI.

        It is the latest of the five seconds before, and the first of lines with equal timestamps.
        """
        time = parse_time(node.time)
        if time is None:
            return None
        for number in range(bisect_right(self._by_time, time, key=itemgetter(0)) - 1, -1, -1):
            earlier, candidate = self._by_time[number]
            if earlier < time - _NEARBY:
                break
            if candidate.uuid not in passed:
                return candidate
        return None

    @cached_property
    def _by_time(self) -> list[tuple[datetime, TranscriptNode]]:
        """The lines by time; those with equal times in reverse file order."""
        timed = [
            (time, node)
            for node in reversed(self.nodes.values())
            if not node.sidechain
            and node.type != "progress"
            and (time := parse_time(node.time)) is not None
        ]
        return sorted(timed, key=itemgetter(0))

    def _before(self, start: TranscriptNode, boundary: Boundary) -> TranscriptNode | None:
        """Return the last line before a compaction."""
        nodes = self.nodes
        logical, tail = nodes.get(boundary.logical_parent or ""), nodes.get(boundary.tail or "")
        earlier = (
            node
            for node in reversed(nodes.values())
            if node.order < start.order and not node.sidechain
        )
        if boundary.partial and logical is not None:
            # The logical parent is where the summarized part meets the kept one. Both were on the
            # branch that was active then, which is the last one written below it.
            return next((node for node in earlier if descends(nodes, node, logical)), logical)
        # The logical parent may never have been written.
        named = (node for node in (logical, tail) if node is not None and node is not start)
        return next(named, None) or next(earlier, None)

    def _walk(self, leaf: TranscriptNode | None) -> list[TranscriptNode]:
        chain: list[TranscriptNode] = []
        preserved = self._preserved_heads
        passed: set[str] = set()
        node = speaker = leaf
        while node is not None and node.uuid not in passed:
            chain.append(node)
            passed.add(node.uuid)
            if preserved and node.uuid in preserved:
                boundary, anchor = preserved[node.uuid]
                is_later = any(line.order > boundary.order for line in chain)
                if is_later and boundary.uuid not in passed:
                    # Preserved lines come after the summary, and the rest before the boundary.
                    chain += [anchor] if anchor is boundary else [anchor, boundary]
            if node.type != "progress":
                speaker = node
            node = self.parent_of(node, passed, speaker)
        return chain

    @cached_property
    def _preserved_heads(self) -> dict[str, tuple[TranscriptNode, TranscriptNode]]:
        """Boundary and anchor of preserved lines, by the uuid of the first of them.

        They are stored before the boundary, and sent after the anchor.
        """
        return {
            node.boundary.head: (node, anchor)
            for node in self.nodes.values()
            if node.boundary is not None
            and node.boundary.head in self.nodes
            and (anchor := self.nodes.get(node.boundary.anchor or "")) is not None
            and anchor.order >= node.order
        }

    def _with_siblings(self, chain: list[TranscriptNode]) -> list[TranscriptNode]:
        """Add the lines of parallel tool calls that the walk missed.

        Each block of an API message is one line. Parallel calls and their results branch off each
        other, so a walk from the leaf sees only some of them.
        """
        others = self.others(chain)
        strays = {result.id: node for node in reversed(others) for result in node.results}
        if strays:
            for node in chain:
                for result in node.results:
                    strays.pop(result.id, None)
        messages: dict[str | None, list[TranscriptNode]] = {
            id_: [] for id_ in _split(chain, others, strays)
        }
        if not messages:
            return chain
        for node in self.nodes.values():
            if node.message_id in messages and not node.sidechain:
                messages[node.message_id].append(node)
        lines: list[TranscriptNode] = []
        placed: set[str] = set()
        for node in chain:
            message = messages.get(node.message_id)
            if message is None:
                if node.uuid not in placed:
                    lines.append(node)
                continue
            calls = (call.id for line in message for call in line.calls)
            for line in (*message, *(strays[id_] for id_ in calls if id_ in strays)):
                if line.uuid not in placed:
                    placed.add(line.uuid)
                    lines.append(line)
        return lines

    def _with_notes(self, history: list[TranscriptNode]) -> list[TranscriptNode]:
        """Add notes beside the conversation, which the CLI sends too.

        For example the text of a skill attached to one result while the conversation continues
        below another, and what hooks wrote after the last answer.
        """
        children: dict[str, list[TranscriptNode]] = {}
        for node in self.others(history):
            if node.type != "progress":
                children.setdefault(self._bridged(node) or "", []).append(node)
        if not children:
            return history
        calling = {node.message_id for node in history if node.calls}
        message: str | None = None
        lines: list[TranscriptNode] = []
        for node in history:
            lines.append(node)
            if node.type == "assistant":
                message = node.message_id if node.message_id in calling else None
            elif message is not None and not belongs(node, message):
                message = None
            if message is not None:
                for child in children.get(node.uuid, ()):
                    lines += _run_of_notes(child, children)
        placed = {node.uuid for node in lines}
        end = speaker(self.nodes, self.leaf) if self.leaf else None
        ended = list(dropwhile(lambda node: node is not end, history))
        return lines + [node for node in _notes_below(ended, children) if node.uuid not in placed]

    def _bridged(self, node: TranscriptNode) -> str | None:
        """Return the parent of a line, skipping progress lines."""
        parent = self.nodes.get(node.parent or "")
        while parent is not None and parent.type == "progress" and parent.parent != node.uuid:
            node, parent = parent, self.nodes.get(parent.parent or "")
        return node.parent


def _split(
    chain: list[TranscriptNode],
    others: list[TranscriptNode],
    strays: Mapping[str, TranscriptNode],
) -> set[str | None]:
    """Return the ids of messages whose lines are not all together in the chain."""
    split: set[str | None] = set()
    seen: set[str | None] = set()
    previous: str | None = None
    for node in chain:
        id_ = node.message_id
        # A result may be written between two calls of one message; the CLI sends it after both.
        if (id_ != previous and id_ in seen) or any(call.id in strays for call in node.calls):
            split.add(id_)
        seen.add(id_)
        previous = id_
    split.update(node.message_id for node in others if node.message_id in seen)
    return split - {None}


def _run_of_notes(
    first: TranscriptNode, children: Mapping[str, list[TranscriptNode]]
) -> list[TranscriptNode]:
    """Return a line and its descendants if all are notes in a single row; otherwise nothing."""
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
    """Return the attachments and system lines below some lines."""
    below: dict[str, TranscriptNode] = {}
    pending = list(nodes)
    while pending:
        for child in children.get(pending.pop(0).uuid, ()):
            if child.type in ("attachment", "system") and child.uuid not in below:
                below[child.uuid] = child
                pending.append(child)
    return list(below.values())
