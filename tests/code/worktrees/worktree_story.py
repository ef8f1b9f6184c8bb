"""A repository of a user, and what it looks like from outside."""

import hashlib
import os
import subprocess
from datetime import datetime
from pathlib import Path

from prong.code.snapshots import snapshot
from prong.model.code import Snapshot, TurnKey

STATUS = ("status", "--porcelain=v2", "-z", "--untracked-files=all")


def git(
    folder: Path, *words: str, stdin: bytes | None = None, when: datetime | None = None
) -> bytes:
    environment = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    if when is not None:
        environment["GIT_COMMITTER_DATE"] = when.isoformat()
    settings = ("user.name=A User", "user.email=user@example.com", "protocol.file.allow=always")
    options = [word for setting in settings for word in ("-c", setting)]
    done = subprocess.run(
        ("git", *options, *words),
        cwd=folder,
        env=environment,
        input=stdin,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, (words, done.stderr.decode(errors="replace"))
    return done.stdout


class UserRepository:
    def __init__(self, top: Path, *options: str) -> None:
        self.top = top
        top.mkdir(parents=True)
        git(top, "init", "--quiet", "--initial-branch=main", *options)

    def git(self, *words: str, stdin: bytes | None = None) -> bytes:
        return git(self.top, *words, stdin=stdin)

    def write(self, name: str | bytes, content: str | bytes = "one\n") -> Path:
        path = self.top / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def commit(self, message: str = "a commit") -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.head()

    def head(self) -> str:
        return self.git("rev-parse", "HEAD").decode().strip()

    def branches(self) -> list[str]:
        return self.git("for-each-ref", "--format=%(refname:short)", "refs/heads").decode().split()

    def take(self, turn: str = "t1") -> Snapshot:
        taken = snapshot.take(self.top, TurnKey("claude", "a-session", turn), number=1)
        assert taken is not None
        return taken

    def state(self) -> dict[str, str]:
        """Everything in `.git` but objects and snapshots, with what worktrees add."""
        common = os.fsdecode(self.git("rev-parse", "--absolute-git-dir")[:-1])
        return {
            os.fsdecode(name): content
            for name, content in files(Path(common)).items()
            if not name.startswith((b"objects/", b"refs/prong/", b"prong/"))
        }


def files(top: Path) -> dict[bytes, str]:
    """Every file below a folder: kind, whether it can be run, and its bytes. Not `.git`."""
    found: dict[bytes, str] = {}
    for folder, folders, names in os.walk(top):
        if ".git" in folders:
            folders.remove(".git")
        for name in (*names, *folders):
            path = Path(folder) / name
            if path.is_symlink():
                content = f"link {path.readlink()}"
            elif path.is_file() and name != ".git":
                run = "x" if path.stat().st_mode & 0o100 else "-"
                content = run + hashlib.sha256(path.read_bytes()).hexdigest()
            else:
                continue
            found[os.fsencode(path.relative_to(top))] = content
    return found


def assert_same(source: Path, worktree: Path) -> None:
    """The same files, and git sees the same."""
    assert git(worktree, *STATUS) == git(source, *STATUS)
    assert files(worktree) == files(source)
