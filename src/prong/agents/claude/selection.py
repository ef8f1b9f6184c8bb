"""The lines that a fork takes over from a session: everything up to one turn.

A turn ends with its last answer. What the person did behind that, such as `/rename`, is no part
of it: a conversation that ends in a line of the user makes the CLI answer for the model. A
compaction behind the last answer is part of it: it is what the model would see next.
"""

from collections.abc import Iterable

from prong.agents.claude import turns
from prong.agents.claude.transcript import Node
from prong.agents.claude.tree import Tree
from prong.agents.claude.turns import Span
from prong.errors import NotFound
from prong.model import Cut
from prong.record import Record


class Selection(Record, frozen=True):
    """The lines of a fork."""

    nodes: list[Node]
    """In the order of the conversation: a line never stands before its parent."""
    context: list[Node]
    """Those that the model would get."""
    spans: list[Span]
    """The turns, each with all of its lines."""
    rest: list[Span]
    """The turns that come after the cut."""
    parents: dict[str, str | None]
    """The lines whose parent is not among them, with the one they are hung to instead."""

    @property
    def turn_ids(self) -> list[str]:
        return [span.opener.uuid for span in self.spans if span.opener]


def select(tree: Tree, whole: turns.Cut, cut: Cut) -> Selection:
    """The lines up to and with one turn of the active conversation, or of an abandoned branch."""
    tree, active, last = _branch(tree, whole, cut.turn)
    spans, rest = active[: last + 1], active[last + 1 :]
    nodes = [node for span in spans[:-1] for node in span.nodes]
    nodes += _until_the_last_answer(spans[-1].nodes)
    if cut.full:
        nodes = list(_without_compactions(nodes))
    context = tree.context(nodes)
    present = {node.uuid for node in nodes}
    # What a compaction preserved may stand on a branch of its own.
    lost = [node for node in context if node.uuid not in present]
    nodes = [*lost, *nodes] if lost else nodes
    return Selection(nodes, context, spans, rest, _new_parents(tree, nodes))


def _branch(tree: Tree, whole: turns.Cut, turn: str | None) -> tuple[Tree, list[Span], int]:
    """The conversation that a turn is in, cut into turns, and the number of the turn."""
    if turn is None:
        return tree, whole.active, 0
    for number, span in enumerate(whole.active):
        if span.opener and span.opener.uuid == turn:
            return tree, whole.active, number
    for span in whole.abandoned:
        if span.opener and span.opener.uuid == turn:
            branch = Tree(tree.transcript, leaf=_end_of(span))
            active = turns.spans(branch.history, tree.transcript)
            for number, one in enumerate(active):
                if one.opener and one.opener.uuid == turn:
                    return branch, active, number
    raise NotFound(f"there is no turn {turn} any more", hint="prong turns --all")


def _end_of(span: Span) -> Node:
    """Where an abandoned turn ends: its last line, unless that was only hung beside the others."""
    parents = {node.parent for node in span.nodes}
    ends = [node for node in span.nodes if node.uuid not in parents]
    return ends[-1] if ends else span.nodes[-1]


def _until_the_last_answer(nodes: list[Node]) -> list[Node]:
    end = len(nodes)
    for index in range(len(nodes) - 1, -1, -1):
        if _is_spoken(nodes[index]):
            end = index + 1
            break
    else:
        # A prompt that nobody answered: it is all there is.
        return nodes
    unanswered = nodes[end - 1].prompt is not None
    while end < len(nodes) and _is_note(nodes[end], unanswered=unanswered):
        end += 1
    return nodes[:end]


def _is_note(node: Node, *, unanswered: bool) -> bool:
    """What the CLI adds to a turn: about its end, or what the prompt was expanded to."""
    if node.type == "user":
        return node.meta and unanswered
    return not node.local and not node.boundary


def _is_spoken(node: Node) -> bool:
    if node.type == "assistant" or node.results or node.summary or node.queued:
        return True
    prompt = node.prompt
    return prompt is not None and (prompt.interrupt or prompt.worded or prompt.position != b"")


def _without_compactions(nodes: Iterable[Node]) -> Iterable[Node]:
    """The words that were said, without the summaries and what the CLI wrote around them."""
    summarising = False
    for node in nodes:
        if node.boundary:
            summarising = True
        elif summarising and not node.summary and _is_spoken(node):
            summarising = False
        if not summarising:
            yield node


def _new_parents(tree: Tree, nodes: list[Node]) -> dict[str, str | None]:
    """Every line must hang on one that is there, or all that came before it would be lost."""
    before: set[str] = set()
    previous: str | None = None
    moved: dict[str, str | None] = {}
    for node in nodes:
        if node.parent is not None and node.parent not in before:
            moved[node.uuid] = _ancestor(tree, node, before) or previous
        before.add(node.uuid)
        previous = node.uuid
    return moved


def _ancestor(tree: Tree, node: Node, among: set[str]) -> str | None:
    seen = {node.uuid}
    current = tree.parent_of(node)
    while current is not None and current.uuid not in seen:
        if current.uuid in among:
            return current.uuid
        seen.add(current.uuid)
        current = tree.parent_of(current)
    return None
