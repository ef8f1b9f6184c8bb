"""Split a conversation into turns, and describe what happened in each."""

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
    """Return prompts that a running turn took from the queue, each with its position in the file.

    `openers` are the positions of all prompts, in order. A text that also has a line in the running
    turn, before the next prompt, is not returned.
    """
    queue: list[QueueOperation] = []
    prompts: list[tuple[int, str]] = []
    nodes = list(transcript.nodes.values()) if transcript.queue else []
    for operation in transcript.queue:
        match operation.operation:
            case "enqueue":
                queue.append(operation)
            case "dequeue" if queue:
                queue.pop(0)
            case "remove" if queue:
                texts = [queued.text for queued in queue]
                index = texts.index(operation.text) if operation.text in texts else 0
                queued = queue.pop(index)
                following = bisect_left(openers, operation.order)
                end = openers[following] + 1 if following < len(openers) else len(nodes)
                text = queued.text.strip()
                recorded = (_text(node) for node in nodes[queued.order : end])
                if text and not text.startswith(_MACHINE) and text not in recorded:
                    prompts.append((operation.order, text))
            case "popAll":
                # The person moved the texts back to the input line.
                queue.clear()
            case _:
                pass
    return prompts


def _text(node: TranscriptNode) -> str | None:
    return node.queued or (node.prompt.text if node.prompt else None)


class ClaudeSpan(Record):
    """The lines of one turn, or those before the first prompt, which have no opener."""

    opener: TranscriptNode | None
    nodes: list[TranscriptNode]
    number: int | None = None
    """Position in the active conversation, from 1."""
    absorbed: list[str] = field(default_factory=list[str])
    """Queued prompts that the turn took up and that have no line of their own."""


def is_opener(node: TranscriptNode, transcript: ClaudeTranscript) -> bool:
    """Return whether this line opens a turn."""
    prompt = node.prompt
    if prompt is None or node.sidechain:
        return False
    if prompt.position:
        return True
    # If the CLI marks openers, a line without the mark is none, whatever its text.
    return prompt.worded and prompt.version not in transcript.positioned_versions


def spans(nodes: Iterable[TranscriptNode], transcript: ClaudeTranscript) -> list[ClaudeSpan]:
    """Split the active conversation into turns; `[0]` is the part before the first prompt."""
    cut = [ClaudeSpan(None, [])]
    append = cut[-1].nodes.append
    for node in nodes:
        if node.prompt is None or not is_opener(node, transcript) or _goes_along(node, cut[-1]):
            append(node)
            continue
        # Bash mode writes its input just before the opener, and commands a caveat.
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
    """Make one turn of a conversation that begins after its first prompt.

    Its file begins with the summary of another one, or lost its first lines. Claude Code resumes it
    all the same.
    """
    first = next((i for i, node in enumerate(nodes) if node.type in ("user", "assistant")), None)
    if first is None or not any(node.type == "assistant" and not node.synthetic for node in nodes):
        return [ClaudeSpan(None, nodes)]
    prompt = Prompt("", TurnKind.NOTIFICATION)
    opener = structs.replace(nodes[first], prompt=prompt)
    return [ClaudeSpan(None, nodes[:first]), ClaudeSpan(opener, [opener, *nodes[first + 1 :]])]


def _goes_along(node: TranscriptNode, span: ClaudeSpan) -> bool:
    """Return whether a prompt was queued with the opener: the CLI sends both as one turn."""
    opener = span.opener
    if opener is None or opener.prompt is None or node.prompt is None or not node.prompt.position:
        return False
    return node.prompt.position == opener.prompt.position and not any(
        other.type == "assistant" for other in span.nodes
    )


def abandoned_spans(tree: Tree) -> list[ClaudeSpan]:
    """Return the turns of dead branches: each opener with the lines below it."""
    transcript = tree.transcript
    turns: dict[str, ClaudeSpan] = {}
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
            turns[node.uuid] = ClaudeSpan(node, [])
    for node in dead:
        owner = owner_of(node)
        if owner is not None:
            turns[owner].nodes.append(node)
    return list(turns.values())


class ClaudeTurnCut(Record, frozen=True):
    """A conversation split into turns; `active[0]` is the part before the first prompt."""

    active: list[ClaudeSpan]
    abandoned: list[ClaudeSpan]


def cut(tree: Tree) -> ClaudeTurnCut:
    """Split the tree into turns; number the active ones and add the queued prompts they took."""
    active = spans(tree.history, tree.transcript)
    for number, span in enumerate(active):
        span.number = number or None
    abandoned = abandoned_spans(tree)
    openers = [
        (span.opener.order, span) for span in (*active, *abandoned) if span.opener is not None
    ]
    openers.sort(key=lambda pair: pair[0])
    for order, text in absorbed(tree.transcript, [start for start, _ in openers]):
        earlier = [span for start, span in openers if start < order]
        if earlier:
            earlier[-1].absorbed.append(text)
    return ClaudeTurnCut(active, abandoned)


def build(
    whole: ClaudeTurnCut, transcript: ClaudeTranscript, *, live: bool = False
) -> tuple[tuple[Turn, ...], tuple[Turn, ...], tuple[int, ...]]:
    """Return the active turns, the abandoned ones, and the turn number of each compaction."""
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
    """The prompts of a turn, and its tool calls."""

    prompt: str
    queued: list[str]
    """Prompts typed while the agent was working."""
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
                # The turn opens with the output; the command precedes it.
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
    turn_work = work(span)
    return Turn(
        index=span.number,
        id=opener.uuid,
        kind=opener.prompt.kind,
        prompt=turn_work.prompt,
        started=parse_time(opener.time),
        ended=parse_time(_ended(span.nodes) or opener.time),
        state=_state(span.nodes, is_last=is_last, live=live),
        queued=tuple(turn_work.queued),
        files=turn_work.files,
        commands=tuple(turn_work.commands),
        tools=dict(Counter(call.name for call in turn_work.calls)),
        tokens=next((node.tokens for node in reversed(span.nodes) if node.tokens), None),
        cwd=transcript.cwd_at(span.nodes[-1] if span.nodes else opener),
    )


def _is_spoken(node: TranscriptNode) -> bool:
    """Return whether the line is from the model, a tool or an interrupt."""
    if node.type == "assistant":
        return node.error or not node.synthetic
    return bool(node.results) or (node.prompt is not None and node.prompt.interrupt)


def _ended(nodes: Sequence[TranscriptNode]) -> str | None:
    """Return the time of the last message, ignoring what the person did afterwards."""
    times = (node.time for node in reversed(nodes) if node.closing or _is_spoken(node))
    return next(times, None)


def _state(nodes: Sequence[TranscriptNode], *, is_last: bool, live: bool) -> TurnState:
    if live and is_last and not any(node.closing for node in nodes):
        return TurnState.RUNNING
    last = next((node for node in reversed(nodes) if _is_spoken(node)), None)
    if last is None:
        # A prompt that another follows is answered there; bash mode may need no answer.
        needs_answer = not any(node.prompt and node.prompt.shell for node in nodes)
        return TurnState.INTERRUPTED if needs_answer and is_last else TurnState.FINISHED
    if last.error:
        return TurnState.FAILED
    if last.type != "assistant" or last.unfinished:
        return TurnState.INTERRUPTED
    answered = (
        {result.id for node in nodes for result in node.results} if last.calls else set[str]()
    )
    all_answered = all(call.id in answered for call in last.calls)
    return TurnState.FINISHED if all_answered else TurnState.INTERRUPTED
