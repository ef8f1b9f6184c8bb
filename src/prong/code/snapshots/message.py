"""The commit message of a snapshot, which stores all fields of a `Snapshot`.

Trailers hold what people may search for, one line of JSON holds lists. Refs and these messages are
the only records of a snapshot; every table can be rebuilt from them.
"""

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, cast

from prong.errors import UsageError
from prong.model.code import LeftOut, NestedSnapshot, Snapshot, TurnKey

REFS = "refs/prong/"
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_LONGEST = 200
LISTED = 10_000
"""Maximum number of left-out files listed by name; the rest is counted."""


class SnapshotMessage(NamedTuple):
    """The fields of a snapshot that are known before its tree."""

    key: TurnKey
    number: int | None
    message_id: str | None
    taken: datetime
    head: str | None
    branch: str | None
    staged_tree: str | None
    previous: Snapshot | None
    degraded: str | None
    left_out: tuple[LeftOut, ...]
    nested: tuple[NestedSnapshot, ...]
    nested_changed: bool
    intended: tuple[str, ...]
    """Paths added with `git add --intent-to-add`."""
    late: bool = False

    def text(self) -> bytes:
        previous = self.previous
        trailers = {
            "Agent": self.key.agent,
            "Session": self.key.session,
            "Turn-Id": self.key.turn_id,
            "Turn": self.number,
            "Message-Id": self.message_id,
            "Taken": self.taken.isoformat(),
            "Head": self.head,
            "Branch": self.branch,
            "Staged-Tree": self.staged_tree,
            "Previous": previous and previous.commit,
            "Previous-Tree": previous and previous.tree,
            "Late": "yes" if self.late else None,
            "Degraded": self.degraded and " ".join(self.degraded.split()),
            "Manifest": self._manifest(),
        }
        turn = f"turn {self.key.turn_id if self.number is None else self.number}"
        title = f"prong: {turn} of {self.key.agent}:{self.key.session}"
        lines = [f"Prong-{name}: {value}" for name, value in trailers.items() if value is not None]
        return os.fsencode("\n".join([title, "", *lines, ""]))

    def _manifest(self) -> str | None:
        listed = self.left_out[:LISTED]
        manifest = {
            "left_out": [[file.path, file.size, file.reason] for file in listed],
            "nested": [[inner.path, inner.commit] for inner in self.nested],
            "nested_changed": self.nested_changed,
            "intended": list(self.intended),
        }
        filled = {name: value for name, value in manifest.items() if value}
        return json.dumps(filled) if filled else None


def ref_of(key: TurnKey, suffix: str = "") -> str:
    return f"{REFS}{_part(key.agent)}/{_part(key.session)}/{_part(key.turn_id)}{suffix}"


def session_refs(key: TurnKey) -> str:
    """Return the prefix of all refs of a session."""
    return f"{REFS}{_part(key.agent)}/{_part(key.session)}/"


def _part(name: str) -> str:
    """Escape a part of a ref: characters that git might reject become %XX."""
    if not name or not name.isprintable() or len(name) > _LONGEST:
        raise UsageError(f"{name!r} cannot name a snapshot")
    return "".join(
        char if char in _SAFE else "".join(f"%{byte:02X}" for byte in char.encode())
        for char in name
    )


def read(repo: Path, ref: str, commit: str, tree: str, message: bytes) -> Snapshot | None:
    """Parse a snapshot from its commit; None if the commit is something else."""
    trailers = dict(
        line.removeprefix("Prong-").split(": ", 1)
        for line in os.fsdecode(message).split("\n")
        if line.startswith("Prong-") and ": " in line
    )
    try:
        manifest: Any = json.loads(trailers.get("Manifest", "{}"))
        number = trailers.get("Turn")
        return Snapshot(
            repo=repo,
            ref=ref,
            commit=commit,
            tree=tree,
            staged_tree=trailers.get("Staged-Tree"),
            head=trailers.get("Head"),
            branch=trailers.get("Branch"),
            agent=trailers["Agent"],
            session=trailers["Session"],
            turn_id=trailers["Turn-Id"],
            number=None if number is None else int(number),
            message_id=trailers.get("Message-Id"),
            taken=datetime.fromisoformat(trailers["Taken"]),
            changed=trailers.get("Previous-Tree") != tree or bool(manifest.get("nested_changed")),
            degraded=trailers.get("Degraded"),
            left_out=tuple(LeftOut(*file) for file in manifest.get("left_out", ())),
            nested=tuple(NestedSnapshot(*inner) for inner in manifest.get("nested", ())),
            late=trailers.get("Late") == "yes",
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def intended(message: bytes) -> list[str]:
    """Return the intent-to-add paths in a message."""
    for line in message.split(b"\n"):
        if line.startswith(b"Prong-Manifest: "):
            manifest = cast(dict[str, Any], json.loads(line.split(b": ", 1)[1]))
            return list(manifest.get("intended", ()))
    return []
