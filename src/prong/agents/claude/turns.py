"""The turns of a conversation: where each opens, and what happened in it."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import structs

from prong.agents.claude.prompts import Prompt
from prong.agents.claude.transcript import (
    EDITORS,
    SHELL,
    ClaudeTranscript,
    QueueOperation,
    ToolResult,
    TranscriptCall,
    TranscriptNode,
)
from prong.agents.claude.tree import Tree
from prong.agents.common import parse_time
from prong.model.record import Record, field
from prong.model.sessions import Command, Turn, TurnKind, TurnState

_MACHINE = ("<task-notification>", "<bash-notification>", '{"task_id"')


def absorbed(transcript: ClaudeTranscript, openers: Sequence[int]) -> list[tuple[int, str]]:
    """Such prompts, each with the number of nodes that stood before it was removed.

    `openers` are the places of all prompts, in order: a text that the running turn repeats before
    the next prompt is not counted twice.
    """
    waiting: list[QueueOperation] = []
    found: list[tuple[int, str]] = []
    nodes = list(transcript.nodes.values()) if transcript.queue else []
    for operation in transcript.queue:
        match operation.operation:
            case "enqueue":
                waiting.append(operation)
            case "dequeue" if waiting:
                waiting.pop(0)
            case "remove" if waiting:
                texts = [queued.text for queued in waiting]
                at = texts.index(operation.text) if operation.text in texts else 0
                queued = waiting.pop(at)
                after = bisect_left(openers, operation.order)
                end = openers[after] + 1 if after < len(openers) else len(nodes)
                text = queued.text.strip()
                said = (_text(node) for node in nodes[queued.order : end])
                if text and not text.startswith(_MACHINE) and text not in said:
                    found.append((operation.order, text))
            case "popAll":
                # The person took the texts back into the input line.
                waiting.clear()
            case _:
                pass
    return found


def _text(node: TranscriptNode) -> str | None:
    return node.queued or (node.prompt.text if node.prompt else None)


class ClaudeSpan(Record):
    """The lines of one turn. The first span of a conversation may have no opener."""

    opener: TranscriptNode | None
    nodes: list[TranscriptNode]
    number: int | None = None
    """In the active conversation, from 1."""
    absorbed: list[str] = field(default_factory=list[str])
    """Prompts that landed in it and that no line repeats."""


def is_opener(node: TranscriptNode, transcript: ClaudeTranscript) -> bool:
    """True when this line begins a turn."""
    prompt = node.prompt
    if prompt is None or node.sidechain:
        return False
    if prompt.position:
        return True
    # Where the CLI marks openers, a line without the mark is none, whatever its text.
    return prompt.worded and prompt.version not in transcript.positioned_versions


def spans(nodes: Iterable[TranscriptNode], transcript: ClaudeTranscript) -> list[ClaudeSpan]:
    """Cut the active conversation into turns; `[0]` is what stands before the first prompt."""
    cut = [ClaudeSpan(None, [])]
    append = cut[-1].nodes.append
    for node in nodes:
        if node.prompt is None or not is_opener(node, transcript) or _goes_along(node, cut[-1]):
            append(node)
            continue
        # Bash mode writes its input, and commands a caveat, just before the opener.
        before = cut[-1].nodes
        lead: list[TranscriptNode] = []
        while before and before[-1].type == "user" and before[-1] is not cut[-1].opener:
            previous = before[-1]
            if not (previous.meta or (previous.prompt and previous.prompt.shell)):
                break
            if previous.summary or previous.results:
                break
            lead.insert(0, before.pop())
        cut.append(ClaudeSpan(node, [*lead, node]))
        append = cut[-1].nodes.append
    return cut if len(cut) > 1 else _without_prompt(cut[0].nodes)


def _without_prompt(nodes: list[TranscriptNode]) -> list[ClaudeSpan]:
    """One turn for a conversation that begins in the middle, behind its first prompt.

    Such a file begins with the summary of another one, or lost its first lines. Claude Code
    resumes it all the same.
    """
    first = next((i for i, node in enumerate(nodes) if node.type in ("user", "assistant")), None)
    if first is None or not any(node.type == "assistant" and not node.synthetic for node in nodes):
        return [ClaudeSpan(None, nodes)]
    prompt = Prompt("", TurnKind.NOTIFICATION)
    opener = structs.replace(nodes[first], prompt=prompt)
    return [ClaudeSpan(None, nodes[:first]), ClaudeSpan(opener, [opener, *nodes[first + 1 :]])]


def _goes_along(node: TranscriptNode, span: ClaudeSpan) -> bool:
    """Prompts queued together are sent together: one turn, and the CLI gives them one position."""
    opener = span.opener
    if opener is None or opener.prompt is None or node.prompt is None or not node.prompt.position:
        return False
    return node.prompt.position == opener.prompt.position and not any(
        other.type == "assistant" for other in span.nodes
    )


def abandoned_spans(tree: Tree) -> list[ClaudeSpan]:
    """The turns of dead branches: each opener there with the lines that hang below it."""
    transcript = tree.transcript
    found: dict[str, ClaudeSpan] = {}
    owners: dict[str, str | None] = {}
    dead = tree.abandoned()
    if not dead:
        return []
    dead_uuids = {node.uuid for node in dead}

    def owner_of(node: TranscriptNode) -> str | None:
        path: dict[str, None] = {}
        owner: str | None = None
        current: TranscriptNode | None = node
        while current is not None and current.uuid in dead_uuids:
            if current.uuid in owners:
                owner = owners[current.uuid]
                break
            if current.uuid in path:
                break
            path[current.uuid] = None
            if is_opener(current, transcript):
                owner = current.uuid
                break
            current = tree.parent_of(current, path)
        owners.update(dict.fromkeys(path, owner))
        return owner

    for node in dead:
        if is_opener(node, transcript):
            found[node.uuid] = ClaudeSpan(node, [])
    for node in dead:
        owner = owner_of(node)
        if owner is not None:
            found[owner].nodes.append(node)
    return list(found.values())


class ClaudeTurnCut(Record, frozen=True):
    """A conversation cut into turns: `active[0]` is what stands before the first prompt."""

    active: list[ClaudeSpan]
    abandoned: list[ClaudeSpan]


def cut(tree: Tree) -> ClaudeTurnCut:
    """All turns, the active ones numbered, with the prompts that landed in them."""
    active = spans(tree.history, tree.transcript)
    for number, span in enumerate(active):
        span.number = number or None
    abandoned = abandoned_spans(tree)
    openers = [
        (span.opener.order, span) for span in (*active, *abandoned) if span.opener is not None
    ]
    openers.sort(key=lambda pair: pair[0])
    for order, text in absorbed(tree.transcript, [start for start, _ in openers]):
        begun = [span for start, span in openers if start < order]
        if begun:
            begun[-1].absorbed.append(text)
    return ClaudeTurnCut(active, abandoned)


def build(
    whole: ClaudeTurnCut, transcript: ClaudeTranscript, *, live: bool = False
) -> tuple[tuple[Turn, ...], tuple[Turn, ...], tuple[int, ...]]:
    """The active turns, the abandoned ones, and after how many turns each compaction stood."""
    last = whole.active[-1]
    turns = tuple(
        _turn(span, transcript, is_last=span is last, live=live)
        for span in whole.active
        if span.opener is not None
    )
    dead = tuple(_turn(span, transcript, is_last=True, live=False) for span in whole.abandoned)
    compactions = tuple(
        span.number or 0 for span in whole.active for node in span.nodes if node.boundary
    )
    return turns, dead, compactions


class ClaudeTurnWork(NamedTuple):
    """What was asked in a turn, and done."""

    prompt: str
    queued: list[str]
    """Typed while the agent was at work."""
    calls: list[TranscriptCall]
    files: tuple[str, ...]
    commands: list[Command]


def work(span: ClaudeSpan) -> ClaudeTurnWork:
    opener = span.opener
    assert opener is not None
    assert opener.prompt is not None
    calls: dict[str, TranscriptCall] = {}
    results: dict[str, ToolResult] = {}
    queued: list[str] = []
    prompt = opener.prompt.text
    opened = False
    for node in span.nodes:
        opened = opened or node is opener
        for call in node.calls:
            calls[call.id] = call
        for result in node.results:
            results[result.id] = result
        if node.queued:
            queued.append(node.queued)
        elif node.prompt:
            if node is not opener and node.prompt.position:
                queued.append(node.prompt.text)
            if node.prompt.shell and not opened:
                # The turn opens with the output; what was typed stands before it.
                prompt = node.prompt.text
    files: dict[str, None] = {}
    commands: list[Command] = []
    for call in calls.values():
        result = results.get(call.id)
        if call.name == SHELL:
            commands.append(Command(call.what or "", result.exit_code if result else None))
        elif call.name in EDITORS and call.what and result and not result.failed:
            files[call.what] = None
    queued.extend(text for text in span.absorbed if text not in queued)
    return ClaudeTurnWork(prompt, queued, list(calls.values()), tuple(files), commands)


def _turn(span: ClaudeSpan, transcript: ClaudeTranscript, *, is_last: bool, live: bool) -> Turn:
    opener = span.opener
    assert opener is not None
    assert opener.prompt is not None
    done = work(span)
    return Turn(
        index=span.number,
        id=opener.uuid,
        kind=opener.prompt.kind,
        prompt=done.prompt,
        started=parse_time(opener.time),
        ended=parse_time(_ended(span.nodes) or opener.time),
        state=_state(span.nodes, is_last=is_last, live=live),
        queued=tuple(done.queued),
        files=done.files,
        commands=tuple(done.commands),
        tools=dict(Counter(call.name for call in done.calls)),
        tokens=next((node.tokens for node in reversed(span.nodes) if node.tokens), None),
        cwd=transcript.cwd_at(span.nodes[-1] if span.nodes else opener),
    )


def _is_spoken(node: TranscriptNode) -> bool:
    """True for what the model, a tool or an interrupt said: the turn itself, not its trimmings."""
    if node.type == "assistant":
        return node.error or not node.synthetic
    return bool(node.results) or (node.prompt is not None and node.prompt.interrupt)


def _ended(nodes: Sequence[TranscriptNode]) -> str | None:
    """When the last word was said; what the person did afterwards is not part of the turn."""
    told = (node.time for node in reversed(nodes) if node.closing or _is_spoken(node))
    return next(told, None)


def _state(nodes: Sequence[TranscriptNode], *, is_last: bool, live: bool) -> TurnState:
    if live and is_last and not any(node.closing for node in nodes):
        return TurnState.RUNNING
    last = next((node for node in reversed(nodes) if _is_spoken(node)), None)
    if last is None:
        # A prompt that another follows at once is answered there; bash mode may need no answer.
        asked = not any(node.prompt and node.prompt.shell for node in nodes)
        return TurnState.INTERRUPTED if asked and is_last else TurnState.FINISHED
    if last.error:
        return TurnState.FAILED
    if last.type != "assistant" or last.unfinished:
        return TurnState.INTERRUPTED
    answered = (
        {result.id for node in nodes for result in node.results} if last.calls else set[str]()
    )
    done = all(call.id in answered for call in last.calls)
    return TurnState.FINISHED if done else TurnState.INTERRUPTED
