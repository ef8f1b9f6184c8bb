"""Split a conversation into turns, and describe what happened in each."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import structs

from prong.agents.claude.prompts import Prompt
from prong.agents.claude.transcript import (
    EDITORS,
    SHELL,
    ClaudeTranscript,
    QueueOperation,
    TranscriptNode,
)
from prong.agents.claude.tree import Tree
from prong.agents.common import parse_time
from prong.model.record import Record, field
from prong.model.sessions import Command, Turn, TurnKind, TurnState

_MACHINE = ("<task-notification>", "<bash-notification>", '{"task_id"')


class ClaudeSpan(Record):
    """The lines of one turn."""

    opener: TranscriptNode
    prompt: Prompt
    nodes: list[TranscriptNode]
    number: int | None = None
    """Position in the active conversation, from 1."""
    absorbed: list[str] = field(default_factory=list[str])
    """Queued prompts that the turn took up and that have no line of their own."""

    @property
    def id(self) -> str:
        return self.opener.uuid


class ClaudeTurns(Record, frozen=True):
    """A conversation split into turns."""

    lead: list[TranscriptNode]
    """The lines before the first prompt."""
    active: list[ClaudeSpan]
    abandoned: list[ClaudeSpan]

    def span(self, turn: str) -> ClaudeSpan | None:
        return next((span for span in (*self.active, *self.abandoned) if span.id == turn), None)


def cut(tree: Tree) -> ClaudeTurns:
    """Split the tree into turns; number the active ones and add the queued prompts they took."""
    lead, active = spans(tree.history, tree.transcript)
    turns = ClaudeTurns(lead, active, _abandoned(tree))
    in_file = sorted((*active, *turns.abandoned), key=lambda span: span.opener.order)
    openers = [span.opener.order for span in in_file]
    for order, text in _absorbed(tree.transcript, openers):
        if (earlier := bisect_left(openers, order)) > 0:
            in_file[earlier - 1].absorbed.append(text)
    return turns


def spans(
    nodes: Iterable[TranscriptNode], transcript: ClaudeTranscript
) -> tuple[list[TranscriptNode], list[ClaudeSpan]]:
    """Split the active conversation into the part before the first prompt, and turns."""
    lead: list[TranscriptNode] = []
    turns: list[ClaudeSpan] = []
    current = lead
    for node in nodes:
        prompt = _opens(node, transcript)
        if prompt is None or (turns and _goes_along(prompt, turns[-1])):
            current.append(node)
            continue
        notes: list[TranscriptNode] = []
        while current and not (turns and current[-1] is turns[-1].opener):
            if not _leads(current[-1], prompt, notes):
                break
            notes.insert(0, current.pop())
        current = [*notes, node]
        turns.append(ClaudeSpan(node, prompt, current, len(turns) + 1))
    return (lead, turns) if turns else _without_prompt(lead)


def is_opener(node: TranscriptNode, transcript: ClaudeTranscript) -> bool:
    """Return whether this line opens a turn."""
    return _opens(node, transcript) is not None


def _opens(node: TranscriptNode, transcript: ClaudeTranscript) -> Prompt | None:
    prompt = node.prompt
    if prompt is None or node.sidechain:
        return None
    # If the CLI marks openers, a line without the mark is none, whatever its text.
    is_old = prompt.worded and prompt.version not in transcript.positioned_versions
    return prompt if prompt.position or is_old else None


def _goes_along(prompt: Prompt, span: ClaudeSpan) -> bool:
    """Return whether a prompt was queued with the opener: the CLI sends both as one turn."""
    if not prompt.position or prompt.position != span.prompt.position:
        return False
    return not any(node.type == "assistant" for node in span.nodes)


def _leads(node: TranscriptNode, prompt: Prompt, notes: Sequence[TranscriptNode]) -> bool:
    """Return whether a line belongs to the prompt below it, as some notes between them do.

    Bash mode writes its input just before the opener, and a caveat before the input. Other notes
    come after their prompt, such as the text that a command was expanded to.
    """
    if node.type != "user" or node.summary or node.results:
        return False
    if node.prompt and node.prompt.shell:
        return not notes
    return node.meta and (len(notes) == 1 or prompt.kind is TurnKind.NOTIFICATION)


def _without_prompt(
    nodes: list[TranscriptNode],
) -> tuple[list[TranscriptNode], list[ClaudeSpan]]:
    """Make one turn of a conversation without a prompt.

    Its file begins with the summary of another one, lost its first lines, or has only commands that
    the CLI ran itself. Claude Code resumes it all the same.
    """
    first = next((i for i, node in enumerate(nodes) if node.type in ("user", "assistant")), None)
    if first is None:
        return nodes, []
    prompt = Prompt("", TurnKind.NOTIFICATION)
    opener = structs.replace(nodes[first], prompt=prompt)
    return nodes[:first], [ClaudeSpan(opener, prompt, [opener, *nodes[first + 1 :]], 1)]


def _abandoned(tree: Tree) -> list[ClaudeSpan]:
    """Return the turns of dead branches: each opener with the lines below it."""
    dead = tree.others()
    turns = {
        node.uuid: ClaudeSpan(node, prompt, [])
        for node in dead
        if (prompt := _opens(node, tree.transcript))
    }
    dead_uuids = {node.uuid for node in dead}
    owners: dict[str, str | None] = {uuid: uuid for uuid in turns}
    for node in dead:
        path: set[str] = set()
        line: TranscriptNode | None = node
        while line and line.uuid in dead_uuids and not (line.uuid in owners or line.uuid in path):
            path.add(line.uuid)
            line = tree.parent_of(line, path)
        owner = owners.get(line.uuid) if line else None
        owners.update(dict.fromkeys(path, owner))
        if owner is not None:
            turns[owner].nodes.append(node)
    return list(turns.values())


def _absorbed(transcript: ClaudeTranscript, openers: Sequence[int]) -> list[tuple[int, str]]:
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
                recorded = (
                    node.queued or (node.prompt.text if node.prompt else None)
                    for node in nodes[queued.order : end]
                )
                if text and not text.startswith(_MACHINE) and text not in recorded:
                    prompts.append((operation.order, text))
            case "popAll":
                # The person moved the texts back to the input line.
                queue.clear()
            case _:
                pass
    return prompts


def describe(
    span: ClaudeSpan, transcript: ClaudeTranscript, *, is_last: bool, live: bool = False
) -> Turn:
    """Describe a turn; the last one of a live session may still run."""
    calls = {call.id: call for node in span.nodes for call in node.calls}
    results = {result.id: result for node in span.nodes for result in node.results}
    files: dict[str, None] = {}
    commands: list[Command] = []
    for id_, call in calls.items():
        result = results.get(id_)
        if call.name == SHELL:
            commands.append(Command(call.what or "", result.exit_code if result else None))
        elif call.name in EDITORS and call.what and result and not result.failed:
            files[call.what] = None
    prompt, queued = _prompts(span)
    # What the person did after the last message does not count.
    ends = (node.time for node in reversed(span.nodes) if node.closing or _is_spoken(node))
    return Turn(
        index=span.number,
        id=span.id,
        kind=span.prompt.kind,
        prompt=prompt,
        started=parse_time(span.opener.time),
        ended=parse_time(next(ends, None) or span.opener.time),
        state=_state(span.nodes, set(results), is_last=is_last, live=live),
        queued=tuple(queued),
        files=tuple(files),
        commands=tuple(commands),
        tools=dict(Counter(call.name for call in calls.values())),
        tokens=next((node.tokens for node in reversed(span.nodes) if node.tokens), None),
        cwd=transcript.cwd_at(span.nodes[-1] if span.nodes else span.opener),
    )


def _prompts(span: ClaudeSpan) -> tuple[str, list[str]]:
    """Return the prompt of a turn, and those typed while the agent was working."""
    prompt = span.prompt.text
    queued: list[str] = []
    opened = False
    for node in span.nodes:
        opened = opened or node is span.opener
        if node.queued:
            queued.append(node.queued)
        elif node.prompt and node is not span.opener:
            if node.prompt.position:
                queued.append(node.prompt.text)
            if node.prompt.shell and not opened:
                # The turn opens with the output; the command precedes it.
                prompt = node.prompt.text
    queued.extend(text for text in span.absorbed if text not in queued)
    return prompt, queued


def _is_spoken(node: TranscriptNode) -> bool:
    """Return whether the line is from the model, a tool or an interrupt."""
    if node.type == "assistant":
        return node.error or not node.synthetic
    return bool(node.results) or (node.prompt is not None and node.prompt.interrupt)


def _state(
    nodes: Sequence[TranscriptNode], answered: set[str], *, is_last: bool, live: bool
) -> TurnState:
    """Return the state of a turn in which these calls were answered."""
    if live and is_last and not any(node.closing for node in nodes):
        return TurnState.RUNNING
    last = next((node for node in reversed(nodes) if _is_spoken(node)), None)
    if last is None:
        # A prompt that another follows is answered there; bash mode may need no answer.
        needs_answer = not any(node.prompt and node.prompt.shell for node in nodes)
        return TurnState.INTERRUPTED if needs_answer and is_last else TurnState.FINISHED
    if last.error:
        return TurnState.FAILED
    is_answer = last.type == "assistant" and not last.unfinished
    if is_answer and all(call.id in answered for call in last.calls):
        return TurnState.FINISHED
    return TurnState.INTERRUPTED
