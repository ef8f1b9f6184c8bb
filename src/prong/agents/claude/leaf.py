"""Find the line at which Claude Code resumes a session: the leaf of the active conversation.

It is the last line of the file (the tip), unless the last `last-prompt` line names one from which
the tip does not continue: after a rewind, or when two programs wrote to one file. Measured on
damaged copies of real sessions, and on files that were built for it.
"""

from collections.abc import Iterator, Mapping
from itertools import takewhile
from operator import itemgetter

from prong.agents.claude.transcript import ClaudeTranscript, LastPrompt, TranscriptNode
from prong.agents.common import parse_time

Nodes = Mapping[str, TranscriptNode]


def find_leaf(transcript: ClaudeTranscript) -> TranscriptNode | None:
    """Return the leaf, from which Claude Code follows the parents; None without a conversation.

    Missing parents are not replaced here: Claude Code does that after choosing the leaf.
    """
    nodes = transcript.nodes
    newest = next((node for node in reversed(nodes.values()) if _is_main(node)), None)
    if newest is None:
        return None
    tip = nodes.get(transcript.repeated or "", newest)
    last = _last_prompt(transcript)
    named = nodes.get(last.leaf or "") if last else None
    if last is None or named is None or not _is_main(named):
        leaf = tip if transcript.last_prompt else _newest_below(nodes, tip)
    elif last.explicit and last.order > newest.order:
        leaf = named
    else:
        is_below = descends(nodes, tip, named)
        leaf = tip if is_below or (not last.explicit and _is_in_batch(nodes, tip, named)) else named
    return next((end for end in (leaf, tip) if speaker(nodes, end)), None) or _latest_end(nodes)


def is_note(node: TranscriptNode) -> bool:
    """Return whether a line only accompanies messages, so that it cannot be a leaf."""
    if node.type == "user":
        return node.meta and not node.results
    return node.type == "attachment" or (node.type == "system" and node.boundary is None)


def belongs(node: TranscriptNode, message_id: str) -> bool:
    """Return whether a line is part of a message, or may occur between its lines."""
    if node.type == "assistant":
        return node.message_id == message_id
    return node.type == "progress" or bool(node.results) or is_note(node)


def speaker(nodes: Nodes, node: TranscriptNode) -> TranscriptNode | None:
    """Return the nearest message of a person or the model, from a line upwards."""
    return next((line for line in ancestors(nodes, node) if _is_spoken(line)), None)


def ancestors(nodes: Nodes, node: TranscriptNode) -> Iterator[TranscriptNode]:
    """Yield a line and those above it, until a parent is missing."""
    seen: set[str] = set()
    line: TranscriptNode | None = node
    while line is not None and line.uuid not in seen:
        yield line
        seen.add(line.uuid)
        line = nodes.get(line.parent or "")


def descends(nodes: Nodes, node: TranscriptNode, ancestor: TranscriptNode) -> bool:
    """Return whether a line is, or descends from, another."""
    return any(line is ancestor for line in ancestors(nodes, node))


def _is_main(node: TranscriptNode) -> bool:
    return not node.sidechain and node.type != "progress"


def _is_spoken(node: TranscriptNode) -> bool:
    return node.type in ("user", "assistant")


def _last_prompt(transcript: ClaudeTranscript) -> LastPrompt | None:
    """Return the last `last-prompt` line; a compaction invalidates those before it."""
    last = transcript.last_prompt
    if last is None or last.leaf is None:
        return None
    later = (node for node in reversed(transcript.nodes.values()) if node.order >= last.order)
    return None if any(node.boundary for node in later) else last


def _is_in_batch(nodes: Nodes, tip: TranscriptNode, named: TranscriptNode) -> bool:
    """Return whether the tip continues from another of several parallel calls.

    Each call is a line of one message, and its result a child of that line: the named line may be
    the result of one call while the conversation continues below another.
    """
    above = (line for line in ancestors(nodes, named) if not is_note(line))
    result = next(above, None)
    if result is None or (result is not named and not result.results):
        return False
    answered = {item.id for item in result.results}
    call = nodes.get(result.parent or "") if answered else result
    if call is None or not call.calls or call.message_id is None:
        return False
    calls = {item.id for item in call.calls}
    id_ = call.message_id
    earlier = list(takewhile(lambda line: belongs(line, id_), ancestors(nodes, call)))
    is_below = False
    child: TranscriptNode | None = None
    for line in ancestors(nodes, tip):
        if line is call:
            others = {item.id for item in child.results} & calls if child else set[str]()
            return is_below or (bool(answered & calls) and not others <= answered)
        if line.message_id == id_ and line.calls:
            if line in earlier:
                return True
            is_below = True
        elif not belongs(line, id_):
            is_below = False
        if line.type != "progress":
            child = line
    return False


def _newest_below(nodes: Nodes, tip: TranscriptNode) -> TranscriptNode:
    """Return the latest descendant of the tip, which precedes it in the file; else the tip."""
    if not any(node.parent == tip.uuid for node in nodes.values()):
        return tip
    children: dict[str | None, list[TranscriptNode]] = {}
    for node in nodes.values():
        children.setdefault(node.parent, []).append(node)
    below = {tip.uuid: tip}
    pending = [tip]
    while pending:
        new = [node for node in children.get(pending.pop().uuid, ()) if node.uuid not in below]
        below |= {node.uuid: node for node in new}
        pending += new
    newest = [node for node in below.values() if node is not tip and _is_main(node)]
    return max(newest, key=lambda node: (node.time or "", node.order), default=tip)


def _latest_end(nodes: Nodes) -> TranscriptNode | None:
    """Return the latest end of any branch, for a tip that is connected to nothing."""
    parents = {node.parent for node in nodes.values() if node.type != "progress"}
    answered = {node.parent for node in nodes.values() if _is_spoken(node)}
    timed = [
        (time, end)
        for node in nodes.values()
        if _is_main(node) and node.uuid not in parents
        if (end := speaker(nodes, node)) is not None
        if end.uuid not in answered and not end.sidechain
        if (time := parse_time(end.time)) is not None
    ]
    # With equal times, `max` returns the first.
    return max(timed, key=itemgetter(0))[1] if timed else None
