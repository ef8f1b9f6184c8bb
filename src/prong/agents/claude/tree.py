"""Which lines are the conversation: the walk from the right leaf to the root.

File order is not the conversation. The CLI follows `parentUuid` from one leaf, so a rewound
branch is dead though it stands in the file; it brings back the siblings of parallel tool calls,
which that walk would miss; and it starts at the last compaction, before which the history goes on.
"""

from collections.abc import Iterator

from prong.agents.claude.transcript import ZERO, Boundary, Node, Transcript


class Tree:
    """The active conversation of one transcript, or the one that ends at a given leaf."""

    def __init__(self, transcript: Transcript, leaf: Node | None = None) -> None:
        self.transcript = transcript
        self.nodes = transcript.nodes
        chain = self._walk(leaf) if leaf else self._active_chain()
        self.leaf = chain[0] if chain else None
        chain.reverse()
        self.history: list[Node] = self._with_siblings(chain)
        """The active branch from its first line on, across compactions."""

    def context(self, history: list[Node] | None = None) -> list[Node]:
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

    def _preserved(self, boundary: Boundary) -> list[Node]:
        """The messages that a compaction kept in words, in order."""
        if boundary.preserved or boundary.head is None or boundary.tail is None:
            return [self.nodes[uuid] for uuid in boundary.preserved if uuid in self.nodes]
        # Older CLIs name only the two ends.
        segment: list[Node] = []
        for node in self._walk(self.nodes.get(boundary.tail)):
            segment.insert(0, node)
            if node.uuid == boundary.head:
                return segment
        return []

    def abandoned(self) -> list[Node]:
        """The lines of dead branches, in file order."""
        return self._others(self.history)

    def _others(self, chosen: list[Node]) -> list[Node]:
        """The lines that are not among the chosen ones, in file order."""
        if len(chosen) == len(self.nodes):
            return []
        known = {node.uuid for node in chosen}
        return [
            node for node in self.nodes.values() if not node.sidechain and node.uuid not in known
        ]

    def parent_of(self, node: Node) -> Node | None:
        """The line before this one in the conversation, also across a compaction."""
        if node.boundary is not None and node.parent is None:
            return self._before(node, node.boundary)
        return self.nodes.get(node.parent) if node.parent else None

    def _before(self, start: Node, boundary: Boundary) -> Node | None:
        """Where the conversation stood when it was compacted."""
        logical = self.nodes.get(boundary.logical_parent or "")
        if boundary.partial and logical is not None:
            # The logical parent is where the summarised part meets the kept one. Both were on the
            # branch that was active then, and that is the last one written below it.
            earlier = self._earlier(start)
            return next((node for node in earlier if self._descends(node, logical)), logical)
        if logical is not None and logical is not start:
            return logical
        # It may name a line that was never written.
        tail = self.nodes.get(boundary.tail or "")
        if tail is not None and tail is not start:
            return tail
        return next(self._earlier(start), None)

    def _earlier(self, start: Node) -> Iterator[Node]:
        """The lines before this one in the file, the nearest first."""
        return (
            node
            for node in reversed(self.nodes.values())
            if node.order < start.order and not node.sidechain
        )

    def _descends(self, node: Node, ancestor: Node) -> bool:
        seen: set[str] = set()
        current: Node | None = node
        while current is not None and current.uuid not in seen:
            if current is ancestor:
                return True
            seen.add(current.uuid)
            current = self.nodes.get(current.parent or "")
        return False

    def _walk(self, leaf: Node | None) -> list[Node]:
        chain: list[Node] = []
        find, append = self.nodes.get, chain.append
        node = leaf
        # A chain that is longer than the file goes in a circle: then it ends where that closes.
        for _ in self.nodes:
            if node is None:
                return chain
            append(node)
            parent = node.parent
            node = find(parent) if parent else self.parent_of(node)
        return chain if node is None else list({one.uuid: one for one in chain}.values())

    def _active_chain(self) -> list[Node]:
        """The lines from the leaf that a resume would take back to the first one."""
        tip = next((node for node in reversed(self.nodes.values()) if not node.sidechain), None)
        chain = self._walk(tip)
        last = self.transcript.last_prompt
        if tip is None or last is None or not last.leaf or last.leaf == ZERO:
            return chain
        named = self.nodes.get(last.leaf)
        if named is None or named.sidechain:
            return chain
        if not any(node is named for node in chain):
            return self._walk(named)
        stands_last = last.order > tip.order
        return self._walk(named) if last.explicit and stands_last else chain

    def _with_siblings(self, chain: list[Node]) -> list[Node]:
        """Put back what parallel tool calls hung beside the chain.

        One API message is written as one line for each block. The lines of parallel calls and
        their results branch off each other, so a walk from the leaf sees only some of them.
        """
        messages, strays = self._beside(chain)
        if not messages and not strays:
            return chain
        whole: list[Node] = []
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

    def _beside(self, chain: list[Node]) -> tuple[dict[str, list[Node]], dict[str, Node]]:
        """The lines of messages that do not stand whole in the chain; results beside it by call."""
        beside = self._others(chain)
        strays = {result.id: node for node in reversed(beside) for result in node.results}
        if strays:
            for node in chain:
                for result in node.results:
                    strays.pop(result.id, None)
        split, seen = _split(chain, strays)
        split.update(node.message_id or "" for node in beside if node.message_id in seen)
        messages: dict[str, list[Node]] = {id_: [] for id_ in split}
        if split:
            for node in self.nodes.values():
                if node.message_id in split and not node.sidechain:
                    messages[node.message_id or ""].append(node)
        return messages, strays


def _split(chain: list[Node], strays: dict[str, Node]) -> tuple[set[str], set[str]]:
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


def _results_for(group: list[Node], results: dict[str, Node]) -> Iterator[Node]:
    for node in group:
        for call in node.calls:
            if call.id in results:
                yield results[call.id]
