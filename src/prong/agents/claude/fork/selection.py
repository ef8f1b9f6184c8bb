"""The lines that a fork takes over from a session: everything up to one turn.

A turn ends with its last answer. What the person did behind that, such as `/rename`, is no part
of it: a conversation that ends in a line of the user makes the CLI answer for the model. A
compaction behind the last answer is part of it: it is what the model would see next. The last
turn of a session ends where the session ends, because that is what the CLI itself resumes.
"""

from collections.abc import Iterable
from itertools import pairwise

from msgspec import structs

from prong.agents.claude import turns
from prong.agents.claude.transcript import ClaudeTranscript, LastPrompt, TranscriptNode
from prong.agents.claude.tree import Tree
from prong.agents.claude.turns import ClaudeSpan
from prong.errors import Corrupt, NotFound
from prong.model.forks import Cut
from prong.model.record import Record


class Selection(Record, frozen=True):
    """The lines of a fork."""

    nodes: list[TranscriptNode]
    """In the order of the conversation."""
    context: list[TranscriptNode]
    """Those that the model would get."""
    spans: list[ClaudeSpan]
    """The turns, each with all of its lines."""
    rest: list[ClaudeSpan]
    """The turns that come after the cut."""
    fork: Tree
    """The same lines as they will be read from the fork: in file order, hung to each other."""
    unanswered: TranscriptNode | None
    """The last thing that was said, where the session went on without an answer to it."""

    @property
    def turn_ids(self) -> list[str]:
        return [span.opener.uuid for span in self.spans if span.opener]


def select(tree: Tree, whole: turns.ClaudeTurnCut, cut: Cut) -> Selection:
    """Select the lines up to and with one turn, active or on an abandoned branch."""
    tree, active, last = _branch(tree, whole, cut.turn)
    spans, rest = active[: last + 1], active[last + 1 :]
    nodes = [node for span in spans for node in span.nodes]
    if rest:
        own = [node for node in spans[-1].nodes if not _is_later(node, rest[0].opener, tree)]
        nodes = nodes[: len(nodes) - len(spans[-1].nodes)] + _until_the_last_answer(own)
    if cut.full:
        nodes = list(_without_compactions(nodes))
    if not any(node.type in ("user", "assistant") for node in nodes):
        nodes = []  # attachments alone, as hooks write them at the start, are no conversation
    context = tree.context(nodes)
    present = {node.uuid for node in nodes}
    # What a compaction preserved may stand on a branch of its own.
    lost = [node for node in context if node.uuid not in present]
    nodes = [*lost, *nodes] if lost else nodes
    said = [node for node in context if node.type in ("user", "assistant")]
    unanswered = said[-1] if rest and said and said[-1].type == "user" else None
    return Selection(nodes, context, spans, rest, _fork(tree, nodes, context), unanswered)


def _branch(
    tree: Tree, whole: turns.ClaudeTurnCut, turn: str | None
) -> tuple[Tree, list[ClaudeSpan], int]:
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
    raise NotFound(f"turn {turn} no longer exists", hint="prong turns --all")


def _end_of(span: ClaudeSpan) -> TranscriptNode:
    """Where an abandoned turn ends: its last line, unless that was only hung beside the others."""
    parents = {node.parent for node in span.nodes}
    ends = [node for node in span.nodes if node.uuid not in parents and node.type != "progress"]
    return ends[-1] if ends else span.nodes[-1]


def _is_later(node: TranscriptNode, prompt: TranscriptNode | None, tree: Tree) -> bool:
    """True for the rest of a message that was still streaming when the next prompt was written.

    It is sent with the beginning of its message, but only from the next turn on.
    """
    return prompt is not None and node.order > prompt.order and tree.descends(node, prompt)


def _until_the_last_answer(nodes: list[TranscriptNode]) -> list[TranscriptNode]:
    end = len(nodes)
    for index in range(len(nodes) - 1, -1, -1):
        if _is_spoken(nodes[index]):
            end = index + 1
            break
    else:
        # A prompt that nobody answered: it is all there is.
        return nodes
    prompt = nodes[end - 1].prompt
    # What follows an interrupt is the caveat of the next local command.
    unanswered = prompt is not None and not prompt.interrupt
    while end < len(nodes) and _is_note(nodes[end], unanswered=unanswered):
        end += 1
    while nodes[end - 1].type == "progress":  # which is never a leaf
        end -= 1
    return nodes[:end]


def _is_note(node: TranscriptNode, *, unanswered: bool) -> bool:
    """What the CLI adds to a turn: about its end, or what the prompt was expanded to."""
    if node.type == "user":
        return node.meta and unanswered
    return not node.local and not node.boundary


def _is_spoken(node: TranscriptNode) -> bool:
    if node.type == "assistant" or node.results or node.summary or node.queued:
        return True
    prompt = node.prompt
    return prompt is not None and (prompt.interrupt or prompt.worded or prompt.position != b"")


def _without_compactions(nodes: Iterable[TranscriptNode]) -> Iterable[TranscriptNode]:
    """The words that were said, without the summaries and what the CLI wrote around them.

    A session may begin with the summary of another file. That one stays: its words are not here.
    """
    said = summarising = False
    for node in nodes:
        if node.boundary:
            summarising = said
        elif summarising and not node.summary and _is_spoken(node):
            summarising = False
        if not summarising:
            said = said or _is_spoken(node)
            yield node


def _fork(tree: Tree, nodes: list[TranscriptNode], context: list[TranscriptNode]) -> Tree:
    """What will be read from the fork; raises `Corrupt` when that is another conversation."""
    chain = [node.uuid for node in nodes if node.uuid in tree.depths]
    chain.sort(key=tree.depths.__getitem__)
    lines = _relinked(tree, nodes, chain)
    read = ClaudeTranscript(nodes={node.uuid: node for node in lines})
    fork = Tree(read)
    if _is_compacted_alike(fork, context):
        return fork
    if chain and (fork.leaf is None or fork.leaf.uuid != chain[-1]):
        # Later lines hang beside the leaf, so the CLI has to be told which one it is.
        read.last_prompt = LastPrompt(chain[-1], explicit=True, order=lines[-1].order + 1)
        fork = Tree(read)
    if list(fork.depths) != chain:
        raise Corrupt(
            "the lines of this session do not form one conversation up to this turn",
            hint="--method seed forks without copying lines",
        )
    return fork


def _is_compacted_alike(fork: Tree, context: list[TranscriptNode]) -> bool:
    """True when a fork that ends with a compaction gives the model the same lines.

    Lines that a compaction preserved stand before its boundary in the file. A session that goes on
    hangs to the last of them, so the walk through it has them behind the summary; the walk
    through a fork that ends with the summary has them before.
    """
    if fork.leaf is None or not fork.leaf.summary:
        return False
    return [node.uuid for node in fork.context()] == [node.uuid for node in context]


def _relinked(tree: Tree, nodes: list[TranscriptNode], chain: list[str]) -> list[TranscriptNode]:
    """The nodes in file order, those whose parent was cut away hung to the nearest that is left.

    All others keep their parents: the CLI reads the same tree from them as from the source. Only
    one that goes in a circle is hung to what the CLI takes instead, which depends on what else is
    in the file.
    """
    left = {node.uuid for node in nodes}
    before = dict(pairwise(reversed(chain)))
    depths = tree.depths

    def relinked(node: TranscriptNode) -> TranscriptNode:
        in_chain = node.uuid in depths
        circular = in_chain and depths.get(node.parent or "", -1) >= depths[node.uuid]
        if node.parent is None or (node.parent in left and not circular):
            return node
        parent = before.get(node.uuid) if in_chain else _ancestor(tree, node, left)
        return structs.replace(node, parent=parent)

    return [relinked(node) for node in sorted(nodes, key=lambda node: node.order)]


def _ancestor(tree: Tree, node: TranscriptNode, left: set[str]) -> str | None:
    """The nearest line above one that hangs beside the chain."""
    seen = {node.uuid}
    while (parent := tree.parent_of(node, seen)) and parent.uuid not in seen:
        if parent.uuid in left:
            return parent.uuid
        seen.add(parent.uuid)
        node = parent
    return None
