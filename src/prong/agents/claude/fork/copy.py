"""A fork as a new session file: the lines of the source, each with a few keys set anew.

Values that stay are copied byte for byte. Keys are set by name, never by replacing text: the id of
the source also occurs in what people and tools said.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, cast
from uuid import uuid4

import msgspec
from msgspec import Raw

from prong.agents import jsonl
from prong.agents.claude import transcript
from prong.agents.claude.folders import project_folder
from prong.agents.claude.fork import sidecars
from prong.agents.claude.fork.source import ClaudeSource
from prong.agents.claude.transcript import LastPrompt, TranscriptNode
from prong.agents.claude.tree import Tree
from prong.agents.common import alone, path_text
from prong.errors import Corrupt, Taken
from prong.files.publication import Publication, writer
from prong.model.forks import Child, Cut

_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_encode = msgspec.json.Encoder().encode
_CLI = Raw(b'"cli"')
_EMPTY = Raw(b"[]")


def write(
    source: ClaudeSource, cut: Cut, child: Child, root: Path, publication: Publication
) -> tuple[Path, Tree]:
    """Write a fork below a configuration root and publish it: the new file, and what is in it."""
    assert child.id is not None
    check_free(root, child.id)
    folder = root / "projects" / project_folder(child.cwd)
    target = folder / f"{child.id}.jsonl"
    staged = publication.stage(target)
    chosen = source.selection(cut)
    unanswered = chosen.unanswered.uuid if chosen.unanswered else None
    copy = _Copy(source, child, sidecars.Moved(source.session.path, target), unanswered)
    with writer(staged) as file:
        file.writelines(copy.moved.lines(copy.records(chosen.fork)))
        if chosen.unanswered:
            for line in _closing_lines(child, chosen.fork, chosen.unanswered):
                file.write(_encode(line) + b"\n")
        elif chosen.fork.transcript.last_prompt:
            leaf = _leaf_line(child, chosen.fork.transcript.last_prompt)
            file.write(_encode(leaf) + b"\n")
        if child.title:
            file.write(_encode(_title_line(child)) + b"\n")
    agents = [agent.path for agent in sidecars.launched(source, chosen.nodes)]
    # What a background agent did after the cut is no part of the fork.
    until = max((node.time or "" for node in chosen.nodes), default="") if chosen.rest else None
    sidecars.stage(copy.moved, agents, child.id, until, publication)
    sidecars.stage_memory(source.session.path, folder, publication)
    # The disk may write while we read.
    publication.hurry(staged)
    written = _read_back(staged, chosen.fork)
    with alone(root / "projects"):
        check_free(root, child.id)
        publication.publish(target)
    return target, written


def _closing_lines(child: Child, fork: Tree, last: TranscriptNode) -> Iterator[dict[str, Any]]:
    """Lines that keep the CLI from answering for the model, and that it never sends.

    A session that ends with a line of the user is resumed with `No response requested.` behind it,
    which the source does not have there. After an interrupt or a summary an attachment
    keeps it from that, elsewhere an answer that is only shown and an attachment. The CLI passes
    over an attachment of a kind that it does not know.
    """
    assert fork.leaf is not None
    shared = {
        "isSidechain": False,
        "timestamp": fork.leaf.time or _now(),
        "userType": "external",
        "entrypoint": "cli",
        "cwd": path_text(child.cwd),
        "sessionId": child.id,
    }
    parent = fork.leaf.uuid
    if not last.summary and not (last.prompt and last.prompt.interrupt):
        shown = {
            "id": str(uuid4()),
            "type": "message",
            "role": "assistant",
            "model": "<synthetic>",
            "content": [{"type": "text", "text": f"[forked from {child.parent}]"}],
        }
        answer = str(uuid4())
        yield {
            "parentUuid": parent,
            "type": "assistant",
            "message": shown,
            "isVirtual": True,
            "isMeta": True,
            "uuid": answer,
            **shared,
        }
        parent = answer
    attachment = {"type": "prong_fork", "parent": str(child.parent)}
    yield {
        "parentUuid": parent,
        "type": "attachment",
        "attachment": attachment,
        "uuid": str(uuid4()),
        **shared,
    }


def _leaf_line(child: Child, last: LastPrompt) -> dict[str, str | bool | None]:
    """The line by which the CLI itself names the leaf of a rewound session."""
    return {
        "type": "last-prompt",
        "leafUuid": last.leaf,
        "explicit": last.explicit,
        "sessionId": child.id,
    }


def _title_line(child: Child) -> dict[str, str | None]:
    return {
        "type": "custom-title",
        "customTitle": child.title,
        "sessionId": child.id,
        "timestamp": _now(),
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def check_free(root: Path, id_: str) -> None:
    """Raise `Taken` when a session has the id: the CLI looks in the folders of all projects."""
    taken = next((root / "projects").glob(f"*/{id_}.jsonl"), None)
    if taken is not None:
        hint = "leave --id out: prong makes one"
        raise Taken(f"session id {id_} is in use", hint=hint, path=str(taken))


@dataclass
class _Copy:
    """The lines of one fork, in the order in which they are written."""

    source: ClaudeSource
    child: Child
    moved: sidecars.Moved
    unanswered: str | None
    """The last line, where the next prompt follows it without an answer."""

    def __post_init__(self) -> None:
        self._session_id = _raw(self.child.id)
        self._cwd = _raw(path_text(self.child.cwd))
        self._origin = b'{"sessionId":%b,"messageUuid":' % _encode(self.source.session.id)
        self._time = _now()

    def records(self, fork: Tree) -> Iterator[sidecars.Record]:
        for node in self._with_sidechains(fork.nodes.values()):
            yield node.length, self._record(node)

    def _with_sidechains(self, nodes: Iterable[TranscriptNode]) -> Iterator[TranscriptNode]:
        """Old CLIs wrote the lines of sub-agents between those of the conversation."""
        beside = [node for node in self.source.transcript.nodes.values() if node.sidechain]
        if not beside:
            yield from nodes
            return
        beside.reverse()
        for node in nodes:
            while beside and beside[-1].order < node.order:
                yield beside.pop()
            yield node

    def _record(self, node: TranscriptNode) -> dict[str, Raw]:
        """The line as the fork has it."""
        fields = _decoded(_read(self.source.file, node))
        if node.parent != self.source.transcript.nodes[node.uuid].parent:
            fields["parentUuid"] = _raw(node.parent)
        fields["sessionId"] = self._session_id
        if node.uuid == self.unanswered and node.prompt and not node.prompt.interrupt:
            fields["message"] = _with_line_break(fields["message"])
        if "entrypoint" in fields:
            fields["entrypoint"] = _CLI
        if "cwd" in fields:
            fields["cwd"] = self._cwd
        if node.time is None:
            # The CLI resumes no session whose last line has none.
            fields["timestamp"] = _raw(self._time)
        else:
            self._time = node.time
        fields["forkedFrom"] = Raw(self._origin + _encode(node.uuid) + b"}")
        return fields


def _with_line_break(message: Raw) -> Raw:
    """The message with a line break behind its text.

    The CLI puts one between two prompts in a row. In the fork an answer that is only shown stands
    between them, which keeps it from that.
    """
    fields = _fields(message)
    content: Any = msgspec.json.decode(fields.get("content", _EMPTY))
    if isinstance(content, str):
        fields["content"] = _raw(content + "\n")
    elif isinstance(content, list) and content:
        *rest, last = cast(list[Any], content)
        if isinstance(last, dict) and "text" in last:
            fields["content"] = _raw([*rest, {**last, "text": f"{last['text']}\n"}])
    return _raw(fields)


def _read(file: BinaryIO, node: TranscriptNode) -> bytes:
    file.seek(node.offset)
    return file.read(node.length)


def _decoded(data: bytes) -> dict[str, Raw]:
    try:
        return _fields(data)
    except (ValueError, RecursionError):
        # Damaged, but good enough to be read: then it is written as it was read.
        pieces, _ = jsonl.split_objects(data)
        if not pieces:
            raise Corrupt("the session changed while it was copied") from None
        return {_plain(key): Raw(jsonl.plain_json(value)) for key, value in pieces[0][2].items()}


def _plain(text: str) -> str:
    """The text without half characters, which UTF-8 does not have."""
    return text.encode("utf-8", "replace").decode()


def _raw(value: Any) -> Raw:
    return Raw(_encode(value))


def _read_back(path: Path, fork: Tree) -> Tree:
    """Read what was written, which must be what was selected, or it is not published."""
    with jsonl.open_file(path) as file:
        tree = Tree(transcript.read(file))
    # Lines of ours may stand behind those of the source.
    read = [node.uuid for node in tree.history if node.uuid in fork.nodes]
    if read != [node.uuid for node in fork.history]:
        raise Corrupt(
            "the fork does not match its source, so it was discarded",
            hint="please report this; to fork without copying lines: --method seed",
        )
    return tree
