"""The sample session in a git repository, with the code of some of its turns."""

import os
import subprocess
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from prong.code.snapshots import snapshot
from prong.hook import spool
from prong.model.code import TurnKey
from tests.cli.shell import API, Shell

LONG_AGO = {"GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}
"""The commit is older than the sample sessions."""


def git(folder: Path, *words: str, given: bytes | None = None) -> bytes:
    identity = ("-c", "user.name=ada", "-c", "user.email=ada@localhost")
    done = subprocess.run(
        ["git", *identity, *words],
        cwd=folder,
        env=os.environ | LONG_AGO,
        input=given,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@dataclass(frozen=True)
class CodeLab:
    """Turn 1 adds a file, 2 changes it and is committed, nobody captured 3, 4 removes it."""

    shell: Shell
    folder: Path

    @classmethod
    def make(cls, shell: Shell) -> "CodeLab":
        lab = cls(shell, shell.home.projects / "shop")
        lab.folder.mkdir(parents=True, exist_ok=True)
        git(lab.folder, "init", "--quiet", "--initial-branch", "main")
        lab.write("README.md", "# Shop\n")
        lab.commit()
        lab.keep(0)
        lab.write("limits.py", "LIMIT = 60\n")
        lab.keep(1)
        lab.write("limits.py", "LIMIT = 60\nREDIS = True\n")
        lab.write("api/keys.py", "KEYS = []\n")
        lab.commit()
        lab.keep(2)
        lab.remove("limits.py")
        lab.write("README.md", "# Shop\n60 requests a minute\n")
        lab.keep(4)
        return lab

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def remove(self, name: str) -> None:
        (self.folder / name).unlink()

    def commit(self) -> None:
        git(self.folder, "add", "--all")
        git(self.folder, "commit", "--quiet", "--message", "by hand")

    def keep(self, number: int, *, session: str = API, folder: Path | None = None) -> None:
        """Capture the code as that of a turn, as the hook does when it ends."""
        turns: list[dict[str, Any]] = self.shell.json("turns", session)["turns"]
        turn = turns[number - 1] if number else None
        when = datetime.fromisoformat(turn["ended"] if turn else turns[0]["started"])
        key = TurnKey("claude", session, turn["id"] if turn else TurnKey.BASELINE)
        taken = snapshot.take(folder or self.folder, key, when=when)
        assert taken
        kept = {"repo": str(taken.repo), "ref": taken.ref}
        spool.append({"agent": "claude", "session": session, "snapshot": kept})
