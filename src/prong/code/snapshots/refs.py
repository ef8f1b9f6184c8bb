"""Refs and commits of snapshots. The commit message stores all fields of a `Snapshot`.

Trailers hold what people may search for, one line of JSON holds lists. Refs and these messages are
the only records of a snapshot; every table can be rebuilt from them.
"""

import json
import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from prong.code.git import Git, GitResult, RunningGit
from prong.errors import UsageError
from prong.model.code import LeftOut, NestedSnapshot, Snapshot, TurnKey

REFS = "refs/prong/"
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_LONGEST = 200
LISTED = 10_000
"""Maximum number of left-out files listed by name; the rest is counted."""
_FORMAT = "%(refname)%00%(objectname)%00%(tree)%00%(contents)%00"


def ref_of(key: TurnKey, suffix: str = "") -> str:
    return f"{session_refs(key)}{_part(key.turn_id)}{suffix}"


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


def message_of(
    key: TurnKey,
    number: int | None,
    fields: Mapping[str, str | None],
    lists: Mapping[str, list[Any] | bool],
) -> bytes:
    """Write the commit message of a snapshot, without empty fields."""
    filled = {name: value for name, value in lists.items() if value}
    trailers = {
        "Agent": key.agent,
        "Session": key.session,
        "Turn-Id": key.turn_id,
        "Turn": number,
        **fields,
        "Manifest": json.dumps(filled) if filled else None,
    }
    title = f"prong: turn {key.turn_id if number is None else number} of {key.agent}:{key.session}"
    lines = [f"Prong-{name}: {value}" for name, value in trailers.items() if value is not None]
    return os.fsencode("\n".join([title, "", *lines, ""]))


def _trailers(message: bytes) -> dict[str, str]:
    return dict(
        line.removeprefix("Prong-").split(": ", 1)
        for line in os.fsdecode(message).split("\n")
        if line.startswith("Prong-") and ": " in line
    )


def parse(repo: Path, ref: str, commit: str, tree: str, message: bytes) -> Snapshot | None:
    """Parse a snapshot from its commit; None if the commit is something else."""
    trailers = _trailers(message)
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
    manifest: Any = json.loads(_trailers(message).get("Manifest", "{}"))
    return list(manifest.get("intended", ()))


class RawCommit(NamedTuple):
    """A commit as stored: git would re-encode a message that it prints."""

    tree: str
    parents: tuple[str, ...]
    message: bytes

    @classmethod
    def parse(cls, content: bytes) -> "RawCommit":
        head, _, message = content.partition(b"\n\n")
        lines = [line.decode(errors="replace").partition(" ") for line in head.split(b"\n")]
        tree = next((value for name, _, value in lines if name == "tree"), "")
        return cls(tree, tuple(value for name, _, value in lines if name == "parent"), message)


def at(repo: Path, commit: str, ref: str = "") -> tuple[RawCommit, Snapshot | None]:
    """Read a commit, and the snapshot in it if it is one."""
    raw = RawCommit.parse(Git(repo).run("cat-file", "commit", commit))
    return raw, parse(repo, ref, commit, raw.tree, raw.message)


def find(folder: Path, prefix: str) -> list[Snapshot]:
    """List the snapshots below a ref, oldest first. Other refs are skipped."""
    git = Git(folder)
    return read(git, ask(git, prefix).answer(), prefix, folder)


def ask(git: Git, prefix: str) -> RunningGit:
    """Start the query; `read` parses its answer."""
    return git.start("for-each-ref", f"--format={_FORMAT}", prefix)


def read(git: Git, answer: GitResult, prefix: str, repo: Path) -> list[Snapshot]:
    fields = answer.output.split(b"\0")[:-1] if answer.ok else _one_by_one(git, prefix)
    parsed = (
        parse(
            repo,
            ref=os.fsdecode(fields[start].strip()),
            commit=fields[start + 1].decode(),
            tree=fields[start + 2].decode(),
            message=fields[start + 3],
        )
        for start in range(0, len(fields), 4)
    )
    snapshots = [snapshot for snapshot in parsed if snapshot is not None]
    return sorted(snapshots, key=lambda snapshot: (snapshot.taken, snapshot.ref))


def present(folder: Path, objects: Iterable[str]) -> set[str]:
    """Return the objects that still exist: refs can be deleted and objects garbage-collected."""
    stdin = "".join(f"{name}\n" for name in objects)
    answer = Git(folder).run("cat-file", "--batch-check=%(objectname)", stdin=stdin.encode())
    # A missing object is answered with a second word.
    return {line for line in answer.decode().splitlines() if " " not in line}


def _one_by_one(git: Git, prefix: str) -> list[bytes]:
    """List the undamaged snapshots: git lists none at all if one commit is damaged."""
    lines = git.run("for-each-ref", "--format=%(objectname) %(refname)", prefix).split(b"\n")[:-1]
    names = dict(line.split(b" ", 1)[::-1] for line in lines)
    fields: list[bytes] = []
    contents = git.objects_of(names.values())
    for ref, commit in names.items():
        headers, _, message = contents.get(commit, b"").partition(b"\n\n")
        if headers.startswith(b"tree "):
            fields += [ref, commit, headers.split(b"\n")[0].split(b" ")[1], message]
    return fields
