"""Write a fork as a new rollout file, with the source's lines up to a turn, from all its files.

Unchanged values are copied byte for byte. Changed ones are set by key, never by replacing text:
the source's id also occurs in prompts and tool output.
"""

import os
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Raw, Struct

from prong.agents import convert, jsonl
from prong.agents.codex import rollout, turns
from prong.agents.codex.fork.compaction import Gap
from prong.agents.codex.fork.source import Branch, CodexSource
from prong.agents.codex.history import Segment
from prong.agents.codex.library import Library
from prong.agents.codex.records import BARE_ITEMS, NO_RAW
from prong.agents.codex.rollout import EntryKind, Rollout
from prong.agents.common import alone, is_uuid, path_text
from prong.errors import Corrupt, Taken
from prong.files.publication import Publication, writer
from prong.files.regular import open_regular
from prong.model.forks import Child, Cut

_encode = msgspec.json.Encoder().encode
_NOT_OF_A_COPY = (
    "history_base",
    "forked_from_ordinal_exclusive",
    "forked_from_agent",
    "forked_from_turn",
    "parent_thread_id",
    "agent_nickname",
    "agent_role",
    "agent_path",
)
"""Metadata of a native fork, a converted session or a sub-agent."""
_ID_KEYS = ("thread_id", "session_id", "sender_thread_id")


class _Head(Struct, gc=False):
    """The fields of a line that decide how to copy it."""

    type: str = ""
    id: str | None = None
    ordinal: int | None = None
    payload: Raw = NO_RAW
    record_type: str | None = None


def write(
    source: CodexSource, cut: Cut, child: Child, root: Path, publication: Publication
) -> Path:
    """Write a fork below a configuration root, publish it, and return the path of the rollout."""
    assert child.id is not None
    check_free(root, child.id)
    now = datetime.now(UTC)
    target = file_of(root, child.id, now)
    branch = source.branch(cut)
    gaps = source.gaps(branch, cut)
    staged = publication.stage(target)
    with writer(staged) as file:
        for line in _Copy(source, branch, gaps, child, now).lines():
            file.write(line)
            file.write(b"\n")
    written = _read_back(staged, branch, compacted=branch.compacted and not cut.full)
    with claimed(root, child.id):
        publication.publish(target)
    source.files.remember(target, written)
    return target


@dataclass
class _Copy:
    source: CodexSource
    branch: Branch
    gaps: list[Gap]
    child: Child
    now: datetime
    _settings: bytes = b"{}"
    """The last recorded settings of the thread."""
    _paginated: bool = False
    _count: int = 0
    _ids: list[bytes] = field(default_factory=list[bytes])
    """JSON-encoded ids of the threads that the lines come from."""

    def lines(self) -> Iterator[bytes]:
        pieces = self.branch.pieces
        chain = list(self.branch.chain)
        last = pieces[-1][0] if pieces else chain[-1]
        headers = [segment.rollout.header for segment in chain]
        self._ids = [_encode(header.id) for header in headers if header and header.id]
        yield self._line(self._header(last))
        if not pieces:
            return
        for segment in takewhile(lambda segment: segment is not last, chain):
            yield from self._segment(segment, segment.rollout.read_to)
        place = pieces[-1][1].place
        yield from self._segment(last, place.offset + place.length)
        yield self._line(self._moved())
        if self.child.title:
            name = {"thread_id": self.child.id, "thread_name": self.child.title}
            yield self._line(self._event("thread_name_updated", **name))

    # -- the first line, and the last ones -----------------------------------------------------

    def _header(self, segment: Segment) -> dict[str, Raw]:
        metadata = self._metadata(segment)
        cwd = _raw(path_text(self.child.cwd))
        has_ordinals = any(entry.ordinal is not None for entry in segment.entries[:1])
        mode = metadata.get("history_mode", _raw("paginated" if has_ordinals else "legacy"))
        self._paginated = bytes(mode) == b'"paginated"'
        kept = {key: value for key, value in metadata.items() if key not in _NOT_OF_A_COPY}
        if bytes(metadata.get("cwd", NO_RAW)) != bytes(cwd):
            # Another folder has another branch, or none.
            kept.pop("git", None)
        # Required by Codex, but missing in old files.
        kept = {"originator": _raw("prong"), "cli_version": _raw("0.0.0"), **kept}
        id_ = _raw(self.child.id)
        source_id = self.source.session.id
        payload = kept | {
            "session_id": id_,
            "id": id_,
            # Codex accepts only a UUID here.
            "forked_from_id": _raw(source_id if is_uuid(source_id) else None),
            "timestamp": _raw(convert.timestamp(self.now)),
            "cwd": cwd,
            "runtime_workspace_roots": _raw([path_text(self.child.cwd)]),
            # A person will continue it, whoever started the source.
            "source": _raw("cli"),
            "thread_source": _raw("user"),
        }
        return self._new("session_meta", payload)

    def _metadata(self, segment: Segment) -> dict[str, Raw]:
        file = self.source.files.file(segment.path)
        for _, data, head in jsonl.Reader(_Head).records(file, stop=segment.rollout.read_to):
            if _is_header(head):
                return jsonl.raw_fields(bytes(head.payload) or data)
        return {}

    def _moved(self) -> dict[str, Raw]:
        """Return the event by which Codex records a change of folder in a fork."""
        settings = jsonl.raw_fields(jsonl.raw_fields(self._settings).get("thread_settings", b"{}"))
        settings["cwd"] = _raw(path_text(self.child.cwd))
        settings["runtime_workspace_roots"] = _raw([path_text(self.child.cwd)])
        return self._event(
            "thread_settings_applied", thread_id=self.child.id, thread_settings=settings
        )

    def _event(self, type_: str, **payload: Any) -> dict[str, Raw]:
        return self._new("event_msg", {"type": type_, **payload})

    def _new(self, type_: str, payload: dict[str, Any]) -> dict[str, Raw]:
        time = _raw(convert.timestamp(self.now))
        return {"timestamp": time, "ordinal": NO_RAW, "type": _raw(type_), "payload": _raw(payload)}

    # -- the lines of the source ---------------------------------------------------------------

    def _segment(self, segment: Segment, stop: int) -> Iterator[bytes]:
        file = self.source.files.file(segment.path)
        gaps = [gap for gap in self.gaps if gap.segment is segment]
        prompts = self._silent_prompts(segment)
        for offset, data, head in jsonl.Reader(_Head).records(file, stop=stop):
            if segment.end is not None and head.ordinal is not None and head.ordinal >= segment.end:
                continue
            if _is_header(head) or any(gap.holds(segment, offset) for gap in gaps):
                continue
            fields = self._wrapped(data, head)
            if fields is None:
                continue
            yield self._line(fields)
            if offset in prompts:
                event: dict[str, Any] = {
                    "type": "user_message",
                    "message": prompts[offset],
                    "images": [],
                }
                yield self._line(fields | {"type": _raw("event_msg"), "payload": _raw(event)})

    def _silent_prompts(self, segment: Segment) -> dict[int, str]:
        """Return prompts without an event. Once Codex resumes and adds events, only those count."""
        if self._paginated or segment.prompt_kind is not EntryKind.USER_TEXT:
            return {}
        return {e.place.offset: e.text for e in segment.entries if e.kind is EntryKind.USER_TEXT}

    def _wrapped(self, data: bytes, head: _Head) -> dict[str, Raw] | None:
        """Return a line in the current format, or None if it has no content."""
        if not bytes(head.payload) and head.type not in BARE_ITEMS:
            return None
        fields = jsonl.raw_fields(data)
        if not bytes(head.payload):
            time = fields.pop("timestamp", _raw(""))
            return {"timestamp": time, "type": _raw("response_item"), "payload": _raw(fields)}
        if head.type in ("event_msg", "token_usage_record"):
            fields["payload"] = self._own(fields["payload"])
        return fields

    def _own(self, payload: Raw) -> Raw:
        """Return an event with the source's ids replaced by the fork's."""
        data = bytes(payload)
        if b'"thread_settings_applied"' in data[:64]:
            self._settings = data
        if not any(id_ in data for id_ in self._ids):
            return payload
        fields = jsonl.raw_fields(payload)
        if "item" in fields:
            fields["item"] = _raw(self._renamed(jsonl.raw_fields(fields["item"])))
        return _raw(self._renamed(fields))

    def _renamed(self, fields: dict[str, Raw]) -> dict[str, Raw]:
        for key in _ID_KEYS:
            if key in fields and bytes(fields[key]) in self._ids:
                fields[key] = _raw(self.child.id)
        return fields

    def _line(self, fields: dict[str, Raw]) -> bytes:
        if self._paginated:
            fields["ordinal"] = Raw(b"%d" % self._count)
            self._count += 1
        else:
            fields.pop("ordinal", None)
        return _encode(fields)


def _is_header(head: _Head) -> bool:
    if bytes(head.payload):
        return head.type == "session_meta"
    return head.id is not None and not head.type and head.record_type is None


def _raw(value: Any) -> Raw:
    return Raw(_encode(value))


def _read_back(path: Path, branch: Branch, *, compacted: bool) -> Rollout:
    """Check that the written turns are those of the source; if not, nothing is published."""
    with open_regular(path) as file:
        written = rollout.read(file)
    turn_cut = turns.cut([Segment(path, written, written.entries)])
    turn_ids = [span.id for span in turn_cut.active if span.prompt is not None]
    if turn_ids != branch.turn_ids or bool(turns.compactions(turn_cut.active)) != compacted:
        raise Corrupt(
            "the fork does not match its source, so it was discarded",
            hint="please report this; to fork without copying lines: --method seed",
            expected=len(branch.turn_ids),
            found=len(turn_ids),
        )
    return written


# -- new threads -----------------------------------------------------------------------------------


def file_of(root: Path, id_: str, now: datetime) -> Path:
    """Return the path of a new thread's file. The time in its name is local."""
    local = now.astimezone()
    name = f"rollout-{local:%Y-%m-%dT%H-%M-%S}-{id_}.jsonl"
    return root / "sessions" / f"{local:%Y/%m/%d}" / name


def check_free(root: Path, id_: str) -> None:
    """Raise `Taken` if a file below a configuration root has the id."""
    library = Library([root])
    path = next(iter(library.threads.get((root, id_), ())), None) or library.find(id_, beside="")
    if path:
        raise Taken(f"thread id {id_} is in use", path=path)


@contextmanager
def claimed(root: Path, id_: str) -> Generator[None]:
    """Hold a lock while publishing under an id that is free."""
    with alone(root / "sessions"):
        # File names contain the time, so two files with one id would not collide.
        check_free(root, id_)
        yield


def uuid7() -> str:
    """Generate an id: 48 bits of milliseconds, then random ones."""
    milliseconds = time.time_ns() // 1_000_000
    number = milliseconds << 80 | int.from_bytes(os.urandom(10))
    number = number & ~(0xF << 76) | 7 << 76
    number = number & ~(0b11 << 62) | 0b10 << 62
    return str(UUID(int=number))
