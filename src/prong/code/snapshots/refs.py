"""List the snapshots of a repository from their refs."""

import os
from collections.abc import Iterable
from pathlib import Path

from prong.code.git import Git, GitResult, RunningGit
from prong.code.repository import Repository
from prong.code.snapshots import message as messages
from prong.model.code import Snapshot

_FORMAT = "%(refname)%00%(objectname)%00%(tree)%00%(contents)%00"


def find(repository: Repository, prefix: str) -> list[Snapshot]:
    """List the snapshots below a ref, oldest first. Other refs are skipped."""
    git = Git(repository.top)
    return read(git, ask(git, prefix).answer(), prefix, repository.top)


def ask(git: Git, prefix: str) -> RunningGit:
    """Start the query; `read` parses its answer."""
    return git.start("for-each-ref", f"--format={_FORMAT}", prefix)


def read(git: Git, answer: GitResult, prefix: str, repo: Path) -> list[Snapshot]:
    fields = answer.output.split(b"\0")[:-1] if answer.ok else _one_by_one(git, prefix)
    snapshots: list[Snapshot] = []
    for start in range(0, len(fields) - 3, 4):
        ref, commit, tree, message = fields[start : start + 4]
        name = os.fsdecode(ref.strip())
        snapshot = messages.read(repo, name, commit.decode(), tree.decode(), message)
        if snapshot is not None:
            snapshots.append(snapshot)
    return sorted(snapshots, key=lambda snapshot: (snapshot.taken, snapshot.ref))


def present(folder: Path, objects: Iterable[str]) -> set[str]:
    """Return the objects that still exist: refs can be deleted and objects garbage-collected."""
    stdin = "".join(f"{name}\n" for name in objects)
    answer = Git(folder).run("cat-file", "--batch-check=%(objectname)", stdin=stdin.encode())
    # A missing object is answered with a second word.
    return {line for line in answer.decode().splitlines() if " " not in line}


def _one_by_one(git: Git, prefix: str) -> list[bytes]:
    """List the undamaged snapshots: git lists none at all if one commit is damaged."""
    refs = git.run("for-each-ref", "--format=%(objectname) %(refname)", prefix).split(b"\n")[:-1]
    stdin = b"".join(line.split(b" ")[0] + b"\n" for line in refs)
    objects = git.run("cat-file", "--batch", stdin=stdin)
    fields: list[bytes] = []
    position = 0
    for line in refs:
        end = objects.index(b"\n", position) + 1
        header = objects[position:end].split()
        position = end
        if header[1] == b"missing":
            continue
        position += int(header[2]) + 1
        headers, _, message = objects[end : position - 1].partition(b"\n\n")
        if headers.startswith(b"tree "):
            commit, ref = line.split(b" ", 1)
            fields += [ref, commit, headers.split(b"\n")[0].split(b" ")[1], message]
    return fields
