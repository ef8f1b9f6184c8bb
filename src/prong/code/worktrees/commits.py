"""One commit per turn on the branch of a worktree that prong created.

A commit contains what the turn's snapshot captured. Unlike a snapshot it is meant for others, so
files go through the user's filters, as with `git add`, and the user is the author.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from time import sleep
from typing import NamedTuple

from prong.code.changed_files import hidden_files
from prong.code.git import Git
from prong.code.worktrees import record
from prong.code.worktrees.record import entry_of
from prong.code.worktrees.work import under_way
from prong.errors import External
from prong.model.code import Snapshot

_SUBMODULE = b"160000"
_NOTHING = b"000000"
_LINK = b"120000"
_PROGRAM = b"100755"
_TITLE = 72
_TRIES = 20
_PAUSE = 0.05


@dataclass(frozen=True)
class TurnCommit:
    """The commit of a turn, or the reason for none; both if it was made with a problem."""

    commit: str | None
    reason: str | None = None


def commit_turn(snapshot: Snapshot, prompt: str, number: int | None = None) -> TurnCommit:
    """Commit the worktree of a snapshot, as it was at the end of the turn, on its branch.

    Does nothing if a merge or the like is in progress, another branch is checked out, or nothing
    changed. `number`: that of the turn, which the hook that took the snapshot may not have known.
    """
    if number is not None:
        snapshot = snapshot._replace(number=number)
    worktree = record.read(snapshot.repo)
    entry = entry_of(worktree.path)
    git = Git(worktree.path)
    operation = under_way(worktree)
    if operation is not None:
        return TurnCommit(None, f"{operation} is under way")
    if snapshot.staged_tree is None:
        return TurnCommit(None, "a merge conflict is not resolved")
    ref = f"refs/heads/{worktree.branch}"
    if os.fsdecode(git.ask("symbolic-ref", "--quiet", "HEAD").output).strip() != ref:
        return TurnCommit(None, f"{worktree.branch} is not checked out")
    answer = git.ask("rev-parse", "HEAD", "HEAD^{tree}")
    head, head_tree = answer.output.decode().split() if answer.ok else (None, None)
    try:
        tree = _tree(entry, head, snapshot.tree)
    except External as error:
        return TurnCommit(None, f"the files cannot be added: {error.message}")
    if tree == head_tree:
        return TurnCommit(None, "nothing changed")
    commit = _commit(git, tree, head, _message(snapshot, prompt))
    update = f"create {ref}\0{commit}\0" if head is None else f"update {ref}\0{commit}\0{head}\0"
    command = ("update-ref", "-z", "--stdin", "--create-reflog", "-m", _which(snapshot))
    if not git.ask(*command, stdin=os.fsencode(update)).ok:
        return TurnCommit(None, "another process committed at the same time")
    return TurnCommit(commit, _stage(git, commit))


class _Entry(NamedTuple):
    mode: bytes
    object: bytes
    name: bytes


def _tree(entry: Path, head: str | None, taken: str) -> str:
    """Write the head's tree with the changes of the snapshot, as git would add them.

    The worktree may have changed since. So the files of the snapshot are written to a temporary
    folder, from which git adds them.
    """
    with TemporaryDirectory(prefix="prong-commit-", dir=entry) as name:
        index, files = Path(name) / "index", Path(name) / "files"
        files.mkdir()
        with suppress(FileNotFoundError):
            copyfile(entry / "index", index)
        locations = (f"--git-dir={entry}", f"--work-tree={files}")
        private = Git(files, *locations, index=index, filters=True)
        kept = hidden_files(private)
        private.run("read-tree", *(("-i", "-m", head) if head else ("--empty",)))
        deleted, present = _differing(private, head, taken)
        _lay_out(private, files, [change for change in present if change.mode != _SUBMODULE])
        # Deletions first: a folder may have become a file or a link.
        added = [change.name for change in present if change.mode != _SUBMODULE]
        for options, names in (("--force-remove",), deleted), (("--add",), added):
            stdin = b"".join(name + b"\0" for name in names if name not in kept)
            private.run("update-index", "-z", *options, "--stdin", stdin=stdin)
        inner = [change for change in present if change.mode == _SUBMODULE]
        lines = b"".join(b"%s %s\t%s\0" % change for change in inner)
        private.run("update-index", "-z", "--index-info", stdin=lines)
        return private.run("write-tree").decode().strip()


def _lay_out(git: Git, folder: Path, entries: Sequence[_Entry]) -> None:
    contents = git.objects_of(entry.object for entry in entries)
    for entry in entries:
        content = contents[entry.object]
        path = folder / os.fsdecode(entry.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if entry.mode == _LINK:
            path.symlink_to(os.fsdecode(content))
        else:
            path.write_bytes(content)
            path.chmod(0o755 if entry.mode == _PROGRAM else 0o644)


def _differing(git: Git, head: str | None, taken: str) -> tuple[list[bytes], list[_Entry]]:
    """Return deleted names and changed entries, without nested repositories never added."""
    deleted: list[bytes] = []
    present: list[_Entry] = []
    old_tree = git.empty_tree() if head is None else head
    command = ("diff-tree", "-r", "-z", "--raw", "--no-renames", old_tree, taken)
    fields = git.run(*command).split(b"\0")
    for entry, name in zip(fields[::2], fields[1::2], strict=False):
        old, new, _, blob, _ = entry.lstrip(b":").split(b" ")
        if new == _NOTHING:
            deleted.append(name)
        elif new != _SUBMODULE or old == _SUBMODULE:
            present.append(_Entry(new, blob, name))
    return deleted, present


def _commit(git: Git, tree: str, head: str | None, message: str) -> str:
    """Write a raw commit object: `git commit-tree` would make prong the author."""
    now = datetime.now().astimezone()
    who = f"{_person(git)} {int(now.timestamp())} {now:%z}"
    parent = [] if head is None else [f"parent {head}"]
    lines = [f"tree {tree}", *parent, f"author {who}", f"committer {who}", "", message]
    stdin = "\n".join(lines).encode(errors="replace")
    return git.run("hash-object", "-w", "-t", "commit", "--stdin", stdin=stdin).decode().strip()


def _person(git: Git) -> str:
    """Return the identity of the user, if git knows one."""
    values = [git.ask("config", "--get", f"user.{key}").output for key in ("name", "email")]
    name, email = (_plain(value.decode(errors="replace"), "<>") for value in values)
    return f"{name} <{email}>" if name and email else "prong <prong@localhost>"


def _message(snapshot: Snapshot, prompt: str) -> str:
    first = next((line for line in map(_plain, prompt.splitlines()) if line), "")
    title = f"{_which(snapshot)}: {first}" if first else _which(snapshot)
    if len(title) > _TITLE:
        title = title[: _TITLE - 3].rstrip() + "..."
    trailers = {
        "Prong-Session": f"{snapshot.agent}:{snapshot.session}",
        "Prong-Turn": snapshot.number,
        "Prong-Turn-Id": snapshot.turn_id,
        "Prong-Message-Id": snapshot.message_id,
        "Prong-Snapshot": snapshot.commit,
    }
    lines = [f"{name}: {_plain(str(value))}" for name, value in trailers.items() if value]
    return "\n".join([title, "", *lines, ""])


def _which(snapshot: Snapshot) -> str:
    return f"Turn {snapshot.turn_id if snapshot.number is None else snapshot.number}"


def _plain(text: str, without: str = "") -> str:
    """Reduce text to one line that no terminal interprets as a command."""
    chars = (char if char.isprintable() and char not in without else " " for char in text)
    return " ".join("".join(chars).split())


def _stage(git: Git, commit: str) -> str | None:
    """Stage what was committed, so that only later changes show as changed."""
    answer = git.ask("read-tree", "-i", "-m", commit)
    for _ in range(_TRIES):
        if "index.lock" not in answer.complaint:
            break
        sleep(_PAUSE)
        answer = git.ask("read-tree", "-i", "-m", commit)
    return None if answer.ok else f"the index is not up to date: {answer.complaint.strip()}"
