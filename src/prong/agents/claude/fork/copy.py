"""Write a fork as a copy of the source's lines, with a few keys changed.

Other values are copied byte for byte. Keys are set by name, never by replacing text: the id of the
source also occurs in prompts and tool results.
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
    """Write and publish a fork under a configuration root; return its path and content."""
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
    # The fork excludes what background agents did after the cut.
    until = max((node.time or "" for node in chosen.nodes), default="") if chosen.rest else None
    sidecars.stage(copy.moved, agents, child.id, until, publication)
    sidecars.stage_memory(source.session.path, folder, publication)
    # Let the disk write while we read.
    publication.hurry(staged)
    written = _read_back(staged, chosen.fork)
    with alone(root / "projects"):
        check_free(root, child.id)
        publication.publish(target)
    return target, written


def _closing_lines(child: Child, fork: Tree, last: TranscriptNode) -> Iterator[dict[str, Any]]:
    """Yield lines that keep the CLI from answering as the model, and that it never sends.

    When a session ends with a user line, the CLI appends `No response requested.` on resume. An
    attachment prevents that after an interrupt or a summary; otherwise it takes an answer that is
    only displayed, and an attachment. The CLI ignores attachments of unknown types.
    """
    assert fork.leaf is not None
    common = {
        "isSidechain": False,
        "timestamp": fork.leaf.time or _now(),
        "userType": "external",
        "entrypoint": "cli",
        "cwd": path_text(child.cwd),
        "sessionId": child.id,
    }
    parent = fork.leaf.uuid
    if not last.summary and not (last.prompt and last.prompt.interrupt):
        displayed = {
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
            "message": displayed,
            "isVirtual": True,
            "isMeta": True,
            "uuid": answer,
            **common,
        }
        parent = answer
    attachment = {"type": "prong_fork", "parent": str(child.parent)}
    yield {
        "parentUuid": parent,
        "type": "attachment",
        "attachment": attachment,
        "uuid": str(uuid4()),
        **common,
    }


def _leaf_line(child: Child, last: LastPrompt) -> dict[str, str | bool | None]:
    """Make the line with which the CLI records the leaf of a rewound session."""
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
    """Raise `Taken` if a session has the id in any project: the CLI searches all of them."""
    path = next((root / "projects").glob(f"*/{id_}.jsonl"), None)
    if path is not None:
        hint = "leave --id out: prong makes one"
        raise Taken(f"session id {id_} is in use", hint=hint, path=str(path))


@dataclass
class _Copy:
    """The lines of one fork, in file order."""

    source: ClaudeSource
    child: Child
    moved: sidecars.Moved
    unanswered: str | None
    """The last line, if it has no answer and the next prompt follows it."""

    def __post_init__(self) -> None:
        self._session_id = _raw(self.child.id)
        self._cwd = _raw(path_text(self.child.cwd))
        self._origin = b'{"sessionId":%b,"messageUuid":' % _encode(self.source.session.id)
        self._time = _now()

    def records(self, fork: Tree) -> Iterator[sidecars.Record]:
        for node in self._with_sidechains(fork.nodes.values()):
            yield node.length, self._record(node)

    def _with_sidechains(self, nodes: Iterable[TranscriptNode]) -> Iterator[TranscriptNode]:
        """Insert the lines of sub-agents that old CLIs wrote among those of the conversation."""
        sidechains = [node for node in self.source.transcript.nodes.values() if node.sidechain]
        if not sidechains:
            yield from nodes
            return
        sidechains.reverse()
        for node in nodes:
            while sidechains and sidechains[-1].order < node.order:
                yield sidechains.pop()
            yield node

    def _record(self, node: TranscriptNode) -> dict[str, Raw]:
        """Copy a line with the keys of the fork."""
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
            # The CLI cannot resume a session whose last line has no timestamp.
            fields["timestamp"] = _raw(self._time)
        else:
            self._time = node.time
        fields["forkedFrom"] = Raw(self._origin + _encode(node.uuid) + b"}")
        return fields


def _with_line_break(message: Raw) -> Raw:
    """Append a line break to the text of a message.

    The CLI puts one between consecutive prompts, but in the fork a displayed answer separates them.
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
        # Damaged but readable: write what was read.
        pieces, _ = jsonl.split_objects(data)
        if not pieces:
            raise Corrupt("the session changed while it was copied") from None
        return {_plain(key): Raw(jsonl.plain_json(value)) for key, value in pieces[0][2].items()}


def _plain(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()


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
