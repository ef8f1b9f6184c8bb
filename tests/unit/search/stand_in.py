"""A program that stands in for qmd and does what the real one does only on bad days."""

import json
import shlex
from pathlib import Path

from prong.search.qmd.engine import QmdEngine, Timeouts

SESSION = "60309e1e-c4ea-4d6d-8da1-21732781ce4d"
FILE = f"qmd://claude-sessions/private-tmp/{SESSION}.md"
ROW = {
    "docid": "#52e657",
    "score": 0.49,
    "file": FILE,
    "line": 8,
    "title": "Limits",
    "snippet": "@@ -7,4 @@ (6 before, 2 after)\nA token bucket\nfor the API.\n",
}
ROWS = json.dumps([ROW], indent=2) + "\n"
NEEDS = "Warning: 3 documents (100%) need embeddings. Run 'qmd embed' for better results.\n"


class StandIn:
    """A shell script called `qmd`, first on the PATH of an otherwise empty home."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        self.home.mkdir()
        self.calls_file = folder / "calls"
        self._lines: dict[str, str] = {}
        self.does("*", 'echo "Unknown command: $1" >&2; exit 1')

    def does(self, mode: str, script: str) -> None:
        """What the program does when it is asked to search in this way."""
        self._lines[mode] = script
        cases = [f"{mode})\n{script}\n;;" for mode, script in reversed(self._lines.items())]
        calls = shlex.quote(str(self.calls_file))
        program = self.bin / "qmd"
        program.write_text(
            f"#!/bin/sh\nprintf '%s\\n' \"$*\" >> {calls}\ncase $1 in\n"
            + "\n".join(cases)
            + "\nesac\n"
        )
        program.chmod(0o755)

    def prints(self, mode: str, output: str = "", complaints: str = "", status: int = 0) -> None:
        for name, text in (("out", output), ("err", complaints)):
            (self.bin / f"{mode}.{name}").write_text(text, encoding="utf-8")
        base = shlex.quote(str(self.bin / mode))
        self.does(mode, f"cat {base}.out; cat {base}.err >&2; exit {status}")

    def add_model(self) -> None:
        """A model file, so that qmd's other ways are tried."""
        models = self.home / ".cache/qmd/models"
        models.mkdir(parents=True, exist_ok=True)
        (models / "embeddinggemma.gguf").touch()

    def add_collection(self, folder: Path, name: str = "claude-sessions") -> None:
        config = self.home / ".config/qmd"
        config.mkdir(parents=True, exist_ok=True)
        (config / "index.yml").write_text(
            f'collections:\n  other:\n    path: /nowhere\n    pattern: "**/*.md"\n'
            f'  {name}:\n    path: {folder}\n    pattern: "**/*.md"\n'
        )

    @property
    def calls(self) -> list[str]:
        """How it was called, each time."""
        return self.calls_file.read_text().splitlines() if self.calls_file.exists() else []

    def engine(self, timeouts: Timeouts | None = None, collection: str | None = None) -> QmdEngine:
        env = {"HOME": str(self.home), "PATH": f"{self.bin}:/usr/bin:/bin", "LANG": "C.UTF-8"}
        return QmdEngine(collection=collection, env=env, timeouts=timeouts)
