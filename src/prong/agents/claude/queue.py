"""Prompts that were typed while the agent was busy and that no line of the chain repeats.

Older CLIs kept what a person typed meanwhile only in the queue's own records: it was enqueued, and
removed again when the running turn took it up. (A dequeued prompt becomes a line of its own, and
newer CLIs write an attachment.)
"""

from bisect import bisect_left
from collections.abc import Sequence

from prong.agents.claude.transcript import Node, QueueOperation, Transcript

_MACHINE = ("<task-notification>", "<bash-notification>", '{"task_id"')


def absorbed(transcript: Transcript, openers: Sequence[int]) -> list[tuple[int, str]]:
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


def _text(node: Node) -> str | None:
    return node.queued or (node.prompt.text if node.prompt else None)
