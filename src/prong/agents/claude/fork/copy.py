"""Write a fork as a copy of the source's lines, with a few keys changed.

Other values are copied byte for byte. Keys are set by name, never by replacing text: the id of the
source also occurs in prompts and tool results.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import msgspec
from msgspec import Raw

from prong.agents import jsonl
from prong.agents.claude import transcript
from prong.agents.claude.folders import project_folder
from prong.agents.claude.fork import sidecars
from prong.agents.claude.fork.selection import Selection
from prong.agents.claude.fork.source import ClaudeSource
from prong.agents.claude.transcript import TranscriptNode
from prong.agents.claude.tree import Tree
from prong.agents.common import alone, path_text
from prong.agents.convert import timestamp
from prong.errors import Corrupt, Taken
from prong.files.publication import Publication, writer
from prong.model.forks import Child, Cut

_encode = msgspec.json.Encoder().encode
_CLI = Raw(b'"cli"')


def write(
    source: ClaudeSource, cut: Cut, child: Child, root: Path, publication: Publication
) -> tuple[Path, Tree]:
    """Write and publish a fork under a configuration root; return its path and content."""
    assert child.id is not None
    check_free(root, child.id)
    folder = root / "projects" / project_folder(child.cwd)
    target = folder / f"{child.id}.jsonl"
    staged = publication.stage(target)
    chosen = source.selection(cut)
    moved = sidecars.Moved(source.session.path, target)
    with writer(staged) as file:
        file.writelines(moved.lines(_copied(source, child, chosen)))
        file.writelines(_encode(line) + b"\n" for line in _added(child, chosen))
    agents = [agent.path for agent in sidecars.launched(source, chosen.nodes)]
    # The fork excludes what background agents did after the cut.
    until = max((node.time or "" for node in chosen.nodes), default="") if chosen.rest else None
    sidecars.stage(moved, agents, child.id, until, publication)
    sidecars.stage_memory(source.session.path, folder, publication)
    # Let the disk write while we read.
    publication.hurry(staged)
    written = _read_back(staged, chosen.fork)
    with alone(root / "projects"):
        check_free(root, child.id)
        publication.publish(target)
    return target, written


def _copied(source: ClaudeSource, child: Child, chosen: Selection) -> Iterator[dict[str, Raw]]:
    session_id, cwd = _raw(child.id), _raw(path_text(child.cwd))
    origin = b'{"sessionId":%b,"messageUuid":' % _encode(source.session.id)
    unanswered = chosen.unanswered.uuid if chosen.unanswered else None
    now = _now()
    originals = source.transcript.nodes
    for node in chosen.fork.nodes.values():
        source.file.seek(node.offset)
        fields = jsonl.raw_fields(source.file.read(node.length))
        if not fields:
            raise Corrupt("the session changed while it was copied")
        if node.parent != originals[node.uuid].parent:
            fields["parentUuid"] = _raw(node.parent)
        fields["sessionId"] = session_id
        if node.uuid == unanswered and _is_text(node):
            fields["message"] = _with_line_break(fields["message"])
        if "entrypoint" in fields:
            fields["entrypoint"] = _CLI
        if "cwd" in fields:
            fields["cwd"] = cwd
        if node.time is None:
            # The CLI cannot resume a session whose last line has no timestamp.
            fields["timestamp"] = _raw(now)
        else:
            now = node.time
        fields["forkedFrom"] = Raw(origin + _encode(node.uuid) + b"}")
        yield fields


def _is_text(node: TranscriptNode) -> bool:
    """Return whether a user line is a prompt, or the text that a command was expanded to."""
    return node.meta if node.prompt is None else not node.prompt.interrupt


def _with_line_break(message: Raw) -> Raw:
    """Append a line break to the text of a message.

    The CLI puts one between consecutive prompts, but in the fork a displayed answer separates them.
    """
    fields = jsonl.raw_fields(message)
    content: Any = msgspec.json.decode(fields.get("content", b"[]"))
    if isinstance(content, str):
        fields["content"] = _raw(content + "\n")
    elif isinstance(content, list) and content:
        *rest, last = cast(list[Any], content)
        if isinstance(last, dict) and "text" in last:
            fields["content"] = _raw([*rest, {**last, "text": f"{last['text']}\n"}])
    return _raw(fields)


def _added(child: Child, chosen: Selection) -> Iterator[dict[str, Any]]:
    last = chosen.fork.transcript.last_prompt
    if chosen.unanswered:
        yield from _closing_lines(child, chosen.fork, chosen.unanswered)
    elif last:
        # As the CLI records the leaf of a rewound session.
        record = {"leafUuid": last.leaf, "explicit": last.explicit}
        yield {"type": "last-prompt", **record, "sessionId": child.id}
    if child.title:
        title = {"customTitle": child.title, "sessionId": child.id, "timestamp": _now()}
        yield {"type": "custom-title", **title}


def _closing_lines(child: Child, fork: Tree, last: TranscriptNode) -> Iterator[dict[str, Any]]:
    """Yield lines that keep the CLI from answering as the model, and that it never sends.

    When a session ends with a user line, the CLI appends `No response requested.` on resume. An
    attachment prevents that after an interrupt or a summary; otherwise it takes an answer that is
    only displayed, and an attachment. The CLI ignores attachments of unknown types.
    """
    assert fork.leaf is not None
    parent = fork.leaf.uuid
    end = {
        "isSidechain": False,
        "timestamp": fork.leaf.time or _now(),
        "userType": "external",
        "entrypoint": "cli",
        "cwd": path_text(child.cwd),
        "sessionId": child.id,
    }
    if not last.summary and not (last.prompt and last.prompt.interrupt):
        displayed = {
            "id": str(uuid4()),
            "type": "message",
            "role": "assistant",
            "model": "<synthetic>",
            "content": [{"type": "text", "text": f"[forked from {child.parent}]"}],
        }
        start = {"parentUuid": parent, "type": "assistant", "message": displayed}
        parent = str(uuid4())
        yield {**start, "isVirtual": True, "isMeta": True, "uuid": parent, **end}
    attachment = {"type": "prong_fork", "parent": str(child.parent)}
    start = {"parentUuid": parent, "type": "attachment", "attachment": attachment}
    yield {**start, "uuid": str(uuid4()), **end}


def _now() -> str:
    return timestamp(datetime.now(UTC))


def check_free(root: Path, id_: str) -> None:
    """Raise `Taken` if a session has the id in any project: the CLI searches all of them."""
    path = next((root / "projects").glob(f"*/{id_}.jsonl"), None)
    if path is not None:
        hint = "leave --id out: prong makes one"
        raise Taken(f"session id {id_} is in use", hint=hint, path=str(path))


def _raw(value: Any) -> Raw:
    return Raw(_encode(value))


def _read_back(path: Path, fork: Tree) -> Tree:
    """Read the fork back; raise `Corrupt` if it is not what was selected."""
    with jsonl.open_file(path) as file:
        tree = Tree(transcript.read(file))
    # Our closing lines may follow those of the source.
    uuids = [node.uuid for node in tree.history if node.uuid in fork.nodes]
    if uuids != [node.uuid for node in fork.history]:
        raise Corrupt(
            "the fork does not match its source, so it was discarded",
            hint="please report this; to fork without copying lines: --method seed",
        )
    return tree
