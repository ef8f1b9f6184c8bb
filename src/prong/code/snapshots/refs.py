"""The snapshots that a repository has, read from their refs."""

import os
from collections.abc import Iterable
from pathlib import Path

from prong.code.git import Git, GitResult, RunningGit
from prong.code.repository import Repository
from prong.code.snapshots import message as messages
from prong.model.code import Snapshot

_FORMAT = "%(refname)%00%(objectname)%00%(tree)%00%(contents)%00"


def find(repository: Repository, prefix: str) -> list[Snapshot]:
    """The snapshots below a ref, oldest first. What is not ours is left out."""
    git = Git(repository.top)
    return read(git, ask(git, prefix).answer(), prefix, repository.top)


def ask(git: Git, prefix: str) -> RunningGit:
    """Begin to look; `read` reads the answer."""
    return git.start("for-each-ref", f"--format={_FORMAT}", prefix)


def read(git: Git, answer: GitResult, prefix: str, repo: Path) -> list[Snapshot]:
    fields = answer.output.split(b"\0")[:-1] if answer.ok else _one_by_one(git, prefix)
    found: list[Snapshot] = []
    for at in range(0, len(fields) - 3, 4):
        ref, commit, tree, message = fields[at : at + 4]
        name = os.fsdecode(ref.strip())
        snapshot = messages.read(repo, name, commit.decode(), tree.decode(), message)
        if snapshot is not None:
            found.append(snapshot)
    return sorted(found, key=lambda snapshot: (snapshot.taken, snapshot.ref))


def present(folder: Path, objects: Iterable[str]) -> set[str]:
    """Those of the objects that are still there: refs can be deleted, and git cleans up."""
    asked = "".join(f"{name}\n" for name in objects)
    answer = Git(folder).run("cat-file", "--batch-check=%(objectname)", stdin=asked.encode())
    # What is not there is answered with a second word.
    return {line for line in answer.decode().splitlines() if " " not in line}


def _one_by_one(git: Git, prefix: str) -> list[bytes]:
    """Git lists nothing when one commit is damaged. The others are as good as they were."""
    refs = git.run("for-each-ref", "--format=%(objectname) %(refname)", prefix).split(b"\n")[:-1]
    asked = b"".join(line.split(b" ")[0] + b"\n" for line in refs)
    objects = git.run("cat-file", "--batch", stdin=asked)
    fields: list[bytes] = []
    at = 0
    for line in refs:
        end = objects.index(b"\n", at) + 1
        about = objects[at:end].split()
        at = end
        if about[1] == b"missing":
            continue
        at += int(about[2]) + 1
        headers, _, message = objects[end : at - 1].partition(b"\n\n")
        if headers.startswith(b"tree "):
            commit, ref = line.split(b" ", 1)
            fields += [ref, commit, headers.split(b"\n")[0].split(b" ")[1], message]
    return fields
