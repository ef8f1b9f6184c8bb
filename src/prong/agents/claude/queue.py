"""Prompts that were typed while the agent was busy and that no line of the chain repeats.

Older CLIs kept what a person typed meanwhile only in the queue's own records: it was enqueued, and
removed again when the running turn took it up. (A dequeued prompt becomes a line of its own, and
newer CLIs write an attachment.)
"""

from prong.agents.claude.transcript import Transcript

_MACHINE = ("<task-notification>", "<bash-notification>", '{"task_id"')


def absorbed(transcript: Transcript) -> list[tuple[int, str]]:
    """Such prompts, each with the number of nodes that stood before it in the file."""
    waiting: list[str] = []
    removed: list[tuple[int, str]] = []
    for operation in transcript.queue:
        match operation.operation:
            case "enqueue":
                waiting.append(operation.text)
            case "dequeue" if waiting:
                waiting.pop(0)
            case "remove" if waiting:
                at = waiting.index(operation.text) if operation.text in waiting else 0
                removed.append((operation.order, waiting.pop(at).strip()))
            case "popAll":
                # The person took the texts back into the input line.
                waiting.clear()
            case _:
                pass
    if not removed:
        return []
    elsewhere = {node.queued for node in transcript.nodes.values() if node.queued}
    elsewhere |= {node.prompt.text for node in transcript.nodes.values() if node.prompt}
    return [
        (order, text)
        for order, text in removed
        if text and text not in elsewhere and not text.startswith(_MACHINE)
    ]
