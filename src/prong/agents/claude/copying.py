"""A fork as a new session file: the lines of the source, each with a few keys set anew.

Values that stay are copied byte for byte. Keys are set by name, never by replacing text: the id of
the source also occurs in what people and tools said.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Raw

from prong.agents import jsonl
from prong.agents.claude import sidecars, transcript
from prong.agents.claude.folders import project_folder
from prong.agents.claude.records import Block
from prong.agents.claude.source import ClaudeSource
from prong.agents.claude.transcript import Node, is_hollow
from prong.agents.claude.tree import Tree
from prong.agents.claude.turns import spans
from prong.agents.common import alone
from prong.errors import Corrupt, Taken
from prong.model import Child, Cut
from prong.publication import Publication, writer

_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_blocks = msgspec.json.Decoder(list[Raw]).decode
_block = msgspec.json.Decoder(Block).decode
_encode = msgspec.json.Encoder().encode
_CLI = Raw(b'"cli"')


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
    copy = _Copy(source, child, sidecars.Moved(source.session.path, target))
    with writer(staged) as file:
        file.writelines(copy.moved.lines(copy.records(cut)))
        if child.title:
            file.write(_encode(_title_line(child)) + b"\n")
    agents = [agent.path for agent in sidecars.launched(source, chosen.nodes)]
    # What a background agent did after the cut is no part of the fork.
    until = max((node.time or "" for node in chosen.nodes), default="") if chosen.rest else None
    sidecars.stage(copy.moved, agents, child.id, until, publication)
    sidecars.stage_memory(source.session.path, folder, publication)
    # The disk may write while we read.
    publication.hurry(staged)
    written = _read_back(staged, chosen.turn_ids, copy.context)
    with alone(root / "projects"):
        check_free(root, child.id)
        publication.publish(target)
    return target, written


def _title_line(child: Child) -> dict[str, str | None]:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {
        "type": "custom-title",
        "customTitle": child.title,
        "sessionId": child.id,
        "timestamp": now,
    }


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
    context: list[str] = field(default_factory=list[str])
    """The lines that the model would get, as far as they were kept."""

    def __post_init__(self) -> None:
        self._session_id = _raw(self.child.id)
        self._cwd = _raw(str(self.child.cwd))
        self._origin = b'{"sessionId":%b,"messageUuid":' % _encode(self.source.session.id)

    def records(self, cut: Cut) -> Iterator[sidecars.Record]:
        chosen = self.source.selection(cut)
        parents = dict(chosen.parents)
        dropped: dict[str, str | None] = {}
        for node in self._with_sidechains(chosen.nodes):
            parent = parents.get(node.uuid, node.parent)
            while parent in dropped:
                parent = dropped[parent]
            fields = self._record(node, parent)
            if fields is None:
                dropped[node.uuid] = parent
            else:
                yield node.length, fields
        self.context = [node.uuid for node in chosen.context if node.uuid not in dropped]

    def _with_sidechains(self, nodes: list[Node]) -> Iterator[Node]:
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

    def _record(self, node: Node, parent: str | None) -> dict[str, Raw] | None:
        """The line as the fork has it; None when nothing of it may be sent again."""
        fields = _decoded(_read(self.source.file, node))
        if node.hollow and not _fill(fields):
            return None
        if parent != node.parent:
            fields["parentUuid"] = _raw(parent)
        fields["sessionId"] = self._session_id
        if "entrypoint" in fields:
            fields["entrypoint"] = _CLI
        if "cwd" in fields:
            fields["cwd"] = self._cwd
        fields["forkedFrom"] = Raw(self._origin + _encode(node.uuid) + b"}")
        return fields


def _read(file: BinaryIO, node: Node) -> bytes:
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
        return {key: Raw(jsonl.plain_json(value)) for key, value in pieces[0][2].items()}


def _fill(fields: dict[str, Raw]) -> bool:
    """Take out the blocks that are a signature without a thought; False when nothing is left."""
    message = _fields(fields["message"])
    kept = [raw for raw in _blocks(message["content"]) if not is_hollow(_block(raw))]
    message["content"] = _raw(kept)
    fields["message"] = _raw(message)
    return bool(kept)


def _raw(value: Any) -> Raw:
    return Raw(_encode(value))


def _read_back(path: Path, turn_ids: list[str], context: list[str]) -> Tree:
    """What was written must be what was meant, or nothing is published."""
    with jsonl.open_file(path) as file:
        tree = Tree(transcript.read(file))
    found = [span.opener.uuid for span in spans(tree.history, tree.transcript) if span.opener]
    if found != turn_ids or [node.uuid for node in tree.context()] != context:
        raise Corrupt(
            "the fork does not read back as its source, so it was not published",
            hint="please report this; --method seed forks without copying lines",
            expected=len(turn_ids),
            found=len(found),
        )
    return tree
