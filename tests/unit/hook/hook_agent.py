"""Calls `prong-hook` as agents do."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import prong
from prong.code.snapshots import snapshot as snapshots
from prong.hook import spool
from prong.model.code import Snapshot
from prong.testing.home import IsolatedHome
from tests.samples.claude import ClaudeSample
from tests.unit.agents.stores import uuid

SOURCE = str(Path(prong.__file__).parents[1])
THREAD = "01a1e2af-c00a-7313-ae6f-8a75d6d8b169"


@dataclass
class Agent:
    """Calls the program as an agent does."""

    home: IsolatedHome
    project: Path
    env: dict[str, str] = field(default_factory=dict[str, str])

    def hook(
        self, *words: str, stdin: bytes = b"", **env: str
    ) -> subprocess.CompletedProcess[bytes]:
        kept = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
        done = subprocess.run(
            [sys.executable, "-P", "-m", "prong.hook", *words],
            input=stdin,
            cwd=self.project,
            env=self.home.env({**kept, "PYTHONPATH": SOURCE, **self.env, **env}),
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        return done

    def claude(self, event: str, transcript: Path, **payload: Any) -> dict[str, Any]:
        """One event of Claude Code; what the spool says of it."""
        told = {
            "session_id": uuid(1),
            "transcript_path": str(transcript),
            "cwd": str(self.project),
            "hook_event_name": event,
            **payload,
        }
        self.hook("claude", stdin=json.dumps(told).encode())
        return spool.waiting()[-1]

    def codex(self, event: str, **payload: Any) -> dict[str, Any]:
        told = {"session_id": THREAD, "cwd": str(self.project), "hook_event_name": event, **payload}
        self.hook("codex", stdin=json.dumps(told).encode())
        return spool.waiting()[-1]

    def snapshots(self) -> dict[str, Snapshot]:
        return {one.turn_id: one for one in snapshots.find(self.project)}

    def kept(self, turn: str, name: str) -> str:
        shot = self.snapshots()[turn]
        argv = ["git", "show", f"{shot.commit}:{name}"]
        return subprocess.run(
            argv, cwd=self.project, capture_output=True, text=True, check=True
        ).stdout


def prompt_id(sample: ClaudeSample) -> str:
    return next(line["promptId"] for line in reversed(sample.lines) if "promptId" in line)


def answer_of(sample: ClaudeSample) -> str:
    return next(line["uuid"] for line in reversed(sample.lines) if line["type"] == "assistant")


def rewritten(sample: ClaudeSample, home: IsolatedHome) -> Path:
    """The file, as the agent has it by now."""
    for path in home.claude.glob(f"projects/*/{sample.id}.jsonl"):
        path.unlink()
    return sample.write(home.claude)
