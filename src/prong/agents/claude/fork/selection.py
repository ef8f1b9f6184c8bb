"""Select the lines of a session for a fork: everything up to one turn.

A turn ends with its last answer. What the person did after it, such as `/rename`, is excluded:
after a user line at the end, the CLI would answer as the model. A compaction after the last
answer is included: the model would see it next. The last turn of a session ends where the session
ends, because that is what the CLI resumes.
"""

from collections.abc import Iterable
from itertools import pairwise

from msgspec import structs

from prong.agents.claude.leaf import descends
from prong.agents.claude.transcript import ClaudeTranscript, LastPrompt, TranscriptNode
from prong.agents.claude.tree import Tree
from prong.agents.claude.turns import ClaudeSpan, ClaudeTurns, spans
from prong.errors import Corrupt, NotFound
from prong.model.forks import Cut
from prong.model.record import Record


class Selection(Record, frozen=True):
    """The lines of a fork."""

    nodes: list[TranscriptNode]
    """In conversation order."""
    context: list[TranscriptNode]
    """The lines that the model would get."""
    spans: list[ClaudeSpan]
    """The turns, each with all its lines."""
    rest: list[ClaudeSpan]
    """The turns after the cut."""
    fork: Tree
    """The lines as they will be read from the fork: in file order, with new parents."""
    unanswered: TranscriptNode | None
    """The last message, if the session continued without an answer to it."""


def select(tree: Tree, whole: ClaudeTurns, cut: Cut) -> Selection:
    """Select the lines up to and including one turn, active or abandoned."""
    tree, lead, turns, count = _branch(tree, whole, cut.turn)
    spans, rest = turns[:count], turns[count:]
    *before, last = [lead, *(span.nodes for span in spans)]
    lost: set[str] = set()
    if rest:
        lost = _lost_calls(tree)
        own = (node for node in last if not _is_later(node, rest[0].opener, tree))
        last = _until_the_last_answer([node for node in own if node.uuid not in lost])
    nodes = [node for part in (*before, last) for node in part if node.uuid not in lost]
    if cut.full:
        nodes = list(_without_compactions(nodes))
    if not any(node.type in ("user", "assistant") for node in nodes):
        nodes = []  # attachments alone, which hooks write at the start, are not a conversation
    context = [node for node in tree.context(nodes) if node.uuid not in lost]
    present = {node.uuid for node in nodes}
    # Lines that a compaction preserved may be on another branch.
    nodes = [*(node for node in context if node.uuid not in present), *nodes]
    last = _last_message(context)
    unanswered = last if rest and last is not None and last.type == "user" else None
    return Selection(nodes, context, spans, rest, _fork(tree, nodes, context), unanswered)


def _lost_calls(tree: Tree) -> set[str]:
    """Return the lines with calls that never got a result, because the program was killed.

    The CLI leaves such a line out when the session goes on. Only at the end of a session it keeps
    the line, with the note that the call was interrupted.
    """
    answered = {result.id for node in tree.history for result in node.results}
    return {
        node.uuid
        for node in tree.history
        if node.calls and not any(call.id in answered for call in node.calls)
    }


def _last_message(context: list[TranscriptNode]) -> TranscriptNode | None:
    """Return the last line that the CLI sends. It sends no answer that has no words."""
    worded = {node.message_id for node in context if node.type == "assistant" and not node.silent}
    for node in reversed(context):
        is_silent = node.silent and node.message_id not in worded
        if node.type in ("user", "assistant") and not is_silent:
            return node
    return None


def _branch(
    tree: Tree, whole: ClaudeTurns, turn: str | None
) -> tuple[Tree, list[TranscriptNode], list[ClaudeSpan], int]:
    """Return the tree and turns of the conversation with this turn, and how many to keep."""
    if turn is None:
        return tree, whole.lead, whole.active, 0
    span = whole.span(turn)
    lead, turns = whole.lead, whole.active
    if span and span.number is None:
        tree = Tree(tree.transcript, leaf=_end_of(span))
        lead, turns = spans(tree.history, tree.transcript)
    for span in turns:
        if span.id == turn:
            return tree, lead, turns, span.number or 0
    raise NotFound(f"turn {turn} no longer exists", hint="prong turns --all")


def _end_of(span: ClaudeSpan) -> TranscriptNode:
    """Return the end of an abandoned turn: its last line without children."""
    parents = {node.parent for node in span.nodes}
    ends = [node for node in span.nodes if node.uuid not in parents and node.type != "progress"]
    return ends[-1] if ends else span.nodes[-1]


def _is_later(node: TranscriptNode, prompt: TranscriptNode, tree: Tree) -> bool:
    """Return whether a line belongs to a message still streaming when the next prompt was written.

    It is sent with the rest of its message, but only from the next turn on.
    """
    return node.order > prompt.order and descends(tree.nodes, node, prompt)


def _until_the_last_answer(nodes: list[TranscriptNode]) -> list[TranscriptNode]:
    """Drop what follows the last answer; keep everything if there is none."""
    end = next((at for at in range(len(nodes), 0, -1) if _is_spoken(nodes[at - 1])), None)
    if end is None:
        return nodes
    prompt = nodes[end - 1].prompt
    # Notes after an interrupt belong to the next local command.
    unanswered = prompt is not None and not prompt.interrupt
    while end < len(nodes) and _is_note(nodes[end], unanswered=unanswered):
        end += 1
    while nodes[end - 1].type == "progress":  # never a leaf
        end -= 1
    return nodes[:end]


def _is_note(node: TranscriptNode, *, unanswered: bool) -> bool:
    """Return whether the CLI added the line to a turn: a note at its end, or an expanded prompt."""
    if node.type == "user":
        return node.meta and unanswered
    return not node.local and not node.boundary


def _is_spoken(node: TranscriptNode) -> bool:
    if node.type == "assistant" or node.results or node.summary or node.queued:
        return True
    prompt = node.prompt
    return prompt is not None and (prompt.interrupt or prompt.worded or prompt.position != b"")


def _without_compactions(nodes: Iterable[TranscriptNode]) -> Iterable[TranscriptNode]:
    """Drop summaries, and what the CLI wrote around them.

    A summary at the beginning stays: the messages it replaces are in another file.
    """
    has_spoken = summarising = False
    for node in nodes:
        if node.boundary:
            summarising = has_spoken
        elif summarising and not node.summary and _is_spoken(node):
            summarising = False
        if not summarising:
            has_spoken = has_spoken or _is_spoken(node)
            yield node


def _fork(tree: Tree, nodes: list[TranscriptNode], context: list[TranscriptNode]) -> Tree:
    """Build the tree of the fork; raise `Corrupt` if it would be another conversation."""
    chain = [node.uuid for node in nodes if node.uuid in tree.depths]
    chain.sort(key=tree.depths.__getitem__)
    lines = _with_sidechains(tree, _relinked(tree, nodes, chain))
    transcript = ClaudeTranscript(nodes={node.uuid: node for node in lines})
    fork = Tree(transcript)
    if _is_compacted_alike(fork, context):
        return fork
    if chain and (fork.leaf is None or fork.leaf.uuid != chain[-1]):
        # Later lines are beside the leaf, so the CLI must be told which line that is.
        transcript.last_prompt = LastPrompt(chain[-1], explicit=True, order=lines[-1].order + 1)
        fork = Tree(transcript)
    if list(fork.depths) != chain:
        raise Corrupt(
            "the lines of this session do not form one conversation up to this turn",
            hint="--method seed forks without copying lines",
        )
    return fork


def _with_sidechains(tree: Tree, lines: list[TranscriptNode]) -> list[TranscriptNode]:
    """Add the lines of sub-agents, which old CLIs wrote among those of the conversation."""
    copied = {node.uuid for node in lines}
    end = lines[-1].order if lines else 0
    sidechains = (node for node in tree.nodes.values() if node.sidechain and node.order < end)
    aside = [node for node in sidechains if node.uuid not in copied]
    return sorted([*lines, *aside], key=lambda node: node.order)


def _is_compacted_alike(fork: Tree, context: list[TranscriptNode]) -> bool:
    """Return whether a fork that ends with a compaction has the same context.

    Lines that a compaction preserved precede its boundary in the file. A session that continues is
    attached to the last of them, so its walk passes them after the summary; the walk of a fork
    that ends with the summary passes them before it.
    """
    if fork.leaf is None or not fork.leaf.summary:
        return False
    return [node.uuid for node in fork.context()] == [node.uuid for node in context]


def _relinked(tree: Tree, nodes: list[TranscriptNode], chain: list[str]) -> list[TranscriptNode]:
    """Return the nodes in file order; those whose parent was cut get the nearest remaining one.

    All others keep their parents, so the CLI reads the same tree as from the source. Only in a
    cycle, a node gets the parent that the CLI would substitute, which depends on the other lines.
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
    """Return the nearest remaining line above one that is beside the chain."""
    seen = {node.uuid}
    while (parent := tree.parent_of(node, seen)) and parent.uuid not in seen:
        if parent.uuid in left:
            return parent.uuid
        seen.add(parent.uuid)
        node = parent
    return None
