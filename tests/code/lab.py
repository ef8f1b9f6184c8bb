"""A repository to take snapshots of, and what must be the same afterwards."""

import hashlib
import os
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

from prong.code.snapshots import snapshot as snapshots
from prong.model.code import Snapshot, TurnKey

IDENTITY = ("-c", "user.name=A User", "-c", "user.email=user@example.com")
_OURS = {"prong", "objects"}
"""Names of folders below the git folder that a snapshot may write to."""


def git(folder: Path, *words: str | bytes, check: bool = True, given: bytes | None = None) -> bytes:
    """As the user would call it."""
    done = subprocess.run(
        ["git", *IDENTITY, "-c", "protocol.file.allow=always", *words],
        cwd=folder,
        capture_output=True,
        check=False,
        input=given,
    )
    if check:
        assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout


@dataclass
class Lab:
    """A repository and an agent's session in it."""

    top: Path
    session: str = "5e55"
    turns: int = 0

    @classmethod
    def make(cls, top: Path, *options: str) -> "Lab":
        top.mkdir(parents=True)
        git(top, "init", "-q", "-b", "main", *options)
        return cls(top)

    def git(self, *words: str | bytes, check: bool = True, given: bytes | None = None) -> bytes:
        return git(self.top, *words, check=check, given=given)

    def word(self, *words: str) -> str:
        return os.fsdecode(self.git(*words)).strip()

    def write(self, name: str | bytes, data: bytes | str = b"one\n") -> Path:
        path = self.top / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def commit(self, message: str = "a commit") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.word("rev-parse", "HEAD")

    def key(self, turn: str) -> TurnKey:
        return TurnKey("claude", self.session, turn)

    def take(self, turn: str | None = None, **options: object) -> Snapshot:
        """A snapshot that is right, and that left no trace."""
        self.turns += 1
        before = self.touched()
        key = self.key(turn or f"turn-{self.turns}")
        taken = snapshots.take(self.top, key, **options)  # type: ignore[arg-type]
        assert taken is not None
        assert self.touched() == before
        assert taken in snapshots.find(self.top)
        return taken

    def files(self, tree: str) -> dict[bytes, tuple[str, bytes]]:
        """Path -> mode and content."""
        lines = self.git("ls-tree", "-r", "-z", tree).split(b"\0")[:-1]
        entries = [
            (*line.split(b"\t", 1)[0].decode().split(), line.split(b"\t", 1)[1]) for line in lines
        ]
        wanted = "".join(f"{name}\n" for _, kind, name, _ in entries if kind == "blob")
        blobs = self.git("cat-file", "--batch", given=wanted.encode())
        found: dict[bytes, tuple[str, bytes]] = {}
        at = 0
        for mode, kind, name, path in entries:
            data = name.encode()
            if kind == "blob":
                begin = blobs.index(b"\n", at) + 1
                at = begin + int(blobs[at:begin].split()[2])
                data, at = blobs[begin:at], at + 1
            found[path] = (mode, data)
        return found

    def lying(self) -> dict[bytes, tuple[str, bytes]]:
        """The same of the working tree: all that is not ignored, read without git's filters."""
        found: dict[bytes, tuple[str, bytes]] = {}
        listed = self.git("ls-files", "-z", "-c", "-o", "--exclude-standard").split(b"\0")[:-1]
        for path in listed:
            full = self.top / os.fsdecode(path)
            try:
                mode = full.lstat().st_mode
            except OSError:
                continue
            if stat.S_ISLNK(mode):
                target = os.readlink(full)  # noqa: PTH115 (a Path would tidy it)
                found[path] = ("120000", os.fsencode(target))
            elif stat.S_ISREG(mode):
                found[path] = ("100755" if mode & 0o100 else "100644", full.read_bytes())
        return found

    def is_exact(self, snapshot: Snapshot) -> bool:
        return self.files(snapshot.tree) == self.lying()

    def touched(self) -> dict[str, str]:
        """Everything of the user's: below the git folder, with times and inodes, and files."""
        found: dict[str, str] = {}
        # `.git` is a file in a linked worktree and in a submodule.
        place = self.word("rev-parse", "--path-format=absolute", "--git-common-dir")
        for root in (Path(place), self.top):
            for folder, folders, names in os.walk(root):
                folders[:] = [name for name in folders if name not in {".git", *_OURS}]
                for name in names:
                    path = Path(folder) / name
                    status = path.lstat()
                    # Git itself keeps a shared index young whenever it reads it.
                    modified = 0 if name.startswith("sharedindex.") else status.st_mtime_ns
                    known = f"{status.st_ino} {modified} {status.st_mode}"
                    if stat.S_ISREG(status.st_mode) and status.st_size < 10**7:
                        digest = hashlib.sha1(path.read_bytes(), usedforsecurity=False)
                        known += digest.hexdigest()
                    found[str(path)] = known
        return found

    def objects(self) -> tuple[int, int]:
        """Packs and loose objects."""
        counted = dict(line.split(": ") for line in self.word("count-objects", "-v").splitlines())
        return int(counted["packs"]), int(counted["count"])

    def private(self) -> list[str]:
        """What is left of snapshots that did not end."""
        home = Path(self.word("rev-parse", "--absolute-git-dir")) / "prong"
        return sorted(
            path.name for path in home.glob("*") if path.name not in {"known.json", "sizes"}
        )
