"""How these tests type commands: in this process, or in one of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from prong.cli import main
from prong.testing.home import IsolatedHome
from tests.samples.claude import ClaudeSample

NOW = datetime.now(UTC)

# The sessions of `prong demo`.
API = "60309e1e-8f4b-4b8e-9c55-1f0d2c7a9b01"
WINDOW = "7d1c44a2-3c1b-4c0e-8f63-6a1e7b0d5c02"
SEARCH = "b54c2f90-0d0a-4f0e-a1d7-93c5e8f20a03"
PARSER = "01a1e076-654d-7c10-8a51-5f3f9e1b0d04"
SNIFFER = "01a1e5b2-90aa-7f21-b3c4-0c9d8e7f6a05"


@dataclass(frozen=True)
class Shell:
    """Types `prong ...` in a throw-away home."""

    home: IsolatedHome

    def run(self, *words: str, **env: str) -> Result:
        """In this process: fast, and a monkeypatch counts."""
        return CliRunner().invoke(main, list(words), env=env)

    def ok(self, *words: str, **env: str) -> str:
        """What a command that works prints."""
        result = self.run(*words, **env)
        assert result.exit_code == 0, result.stderr
        return result.stdout

    def json(self, *words: str, **env: str) -> Any:
        """The one value that `--json` prints; a second one would not parse."""
        return json.loads(self.ok(*words, "--json", **env))

    def fails(self, status: int, *words: str, **env: str) -> str:
        """What a command that fails says. Its stdout is empty: a pipe gets no half answer."""
        result = self.run(*words, **env)
        assert (result.exit_code, result.stdout) == (status, ""), result.output
        assert "Traceback" not in result.stderr
        return result.stderr

    def problem(self, status: int, *words: str, **env: str) -> dict[str, Any]:
        """The same with `--json`."""
        found: dict[str, Any] = json.loads(self.fails(status, *words, "--json", **env))
        assert list(found) == ["code", "message", "hint", "details"]
        return found

    def env(self, **extra: str) -> dict[str, str]:
        """The environment for a process; coverage wants to know of it, too."""
        kept = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
        return self.home.env({**kept, "PATH": os.environ["PATH"], **extra})

    def process(
        self, *words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """In a process of its own."""
        return subprocess.run(
            prong(*words),
            cwd=cwd or self.home.root,
            env=env or self.env(),
            capture_output=True,
            check=False,
            timeout=60,
        )

    def session(self, name: int, *, cwd: str | None = None, age: float = 1.0) -> ClaudeSample:
        """A Claude session in the making: number `name`, so many hours old."""
        start = datetime.fromtimestamp(NOW.timestamp() - age * 3600, UTC)
        id_ = f"{name:08x}-0000-4000-8000-{name:012x}"
        return ClaudeSample(id_, cwd or str(self.home.projects / "shop"), start)

    def simple(self, name: int, prompt: str = "Hello", **where: Any) -> str:
        """A session of one turn, written; its id comes back."""
        sample = self.session(name, **where)
        sample.prompt(prompt)
        sample.answer("Done.")
        sample.write(self.home.claude)
        return sample.id


def prong(*words: str) -> list[str]:
    return [sys.executable, "-m", "prong", *words]
