"""The real Claude Code program, run headless against the fake server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prong.agents import versions
from prong.testing.home import IsolatedHome
from prong.testing.wait import PATIENCE
from tests.drivers.programs import find_program

API_KEY = "sk-test-0000"
PLAIN_UNIT = re.compile(r"[^A-Za-z0-9]")


@dataclass(frozen=True)
class ClaudeRun:
    """What a headless run gave back."""

    code: int
    session_id: str
    result: str
    is_error: bool
    stderr: str
    raw: dict[str, Any] = field(repr=False)


class ClaudeCli:
    """Starts `claude` in a clean environment. `home` is its whole world, `url` its only model."""

    def __init__(self, home: IsolatedHome, url: str, program: Path | None = None) -> None:
        self.home = home
        self.url = url
        self.program = program or find_program("claude", "PRONG_TEST_CLAUDE")

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment of every run: no updates, no telemetry, no other server."""
        return self.home.env(
            {
                "ANTHROPIC_BASE_URL": self.url,
                "ANTHROPIC_API_KEY": API_KEY,
                "DISABLE_AUTOUPDATER": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
                "IS_SANDBOX": "1",
                "CLAUDE_CODE_TMPDIR": str(self.home.tmp),
                **(extra or {}),
            }
        )

    def prepare(self, cwd: Path) -> None:
        """Answer the first-start questions (onboarding, trust, key) before an interactive run."""
        path = self.home.root / ".claude.json"
        config: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        config |= {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "numStartups": 10,
            "lastOnboardingVersion": versions.CLAUDE[-1],
            "lastReleaseNotesSeen": versions.CLAUDE[-1],
            "hasSeenAutoDefaultNotice": True,
            "bypassPermissionsModeAccepted": True,
            "autoUpdates": False,
            "officialMarketplaceAutoInstallAttempted": True,
            "officialMarketplaceAutoInstalled": True,
            "customApiKeyResponses": {"approved": [API_KEY], "rejected": []},
        }
        trusted: dict[str, Any] = {
            "hasTrustDialogAccepted": True,
            "hasCompletedProjectOnboarding": True,
            "allowedTools": [],
        }
        projects: dict[str, Any] = config.setdefault("projects", {})
        projects[str(cwd.resolve())] = projects.get(str(cwd.resolve()), {}) | trusted
        path.write_text(json.dumps(config), encoding="utf-8")
        settings = self.home.claude / "settings.json"
        if not settings.exists():
            settings.write_text('{"skipDangerousModePermissionPrompt":true}', encoding="utf-8")

    def run(
        self,
        prompt: str,
        cwd: Path,
        *,
        resume: str | None = None,
        fork: bool = False,
        persist: bool = True,
        arguments: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> ClaudeRun:
        """One headless turn. `persist=False` leaves the resumed session untouched."""
        argv = [str(self.program), "-p", prompt, "--output-format", "json"]
        argv += ["--dangerously-skip-permissions"]
        argv += ["--resume", resume] if resume else []
        argv += ["--fork-session"] if fork else []
        argv += [] if persist else ["--no-session-persistence"]
        done = subprocess.run(
            [*argv, *arguments],
            cwd=cwd,
            env=self.env(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        raw: dict[str, Any] = {}
        # The result is the last line of JSON; warnings may stand before it. Not splitlines(): the
        # text of an answer may hold U+2028 and its like.
        for line in reversed(done.stdout.split("\n")):
            if line.startswith("{"):
                raw = json.loads(line)
                break
        return ClaudeRun(
            code=done.returncode,
            session_id=str(raw.get("session_id", "")),
            result=str(raw.get("result", "")),
            is_error=bool(raw.get("is_error", True)),
            stderr=done.stderr,
            raw=raw,
        )

    def project_folder(self, cwd: Path) -> Path:
        """The folder below the config root that holds the sessions of `cwd` (short paths only)."""
        return self.home.claude / "projects" / PLAIN_UNIT.sub("-", str(cwd.resolve()))

    def session_file(self, session_id: str) -> Path:
        """The file of a session, whichever project it belongs to."""
        found = sorted((self.home.claude / "projects").glob(f"*/{session_id}.jsonl"))
        if not found:
            raise FileNotFoundError(f"Claude Code wrote no session {session_id}")
        return found[0]

    def session_ids(self) -> list[str]:
        """The ids of all sessions on disk, the oldest file first."""
        files = (self.home.claude / "projects").glob("*/*.jsonl")
        return [path.stem for path in sorted(files, key=lambda path: path.stat().st_ctime_ns)]

    def copy_sessions(self, target: Path) -> Path:
        """Copy the sessions aside, as they are now, in the layout of a config root."""
        shutil.copytree(self.home.claude / "projects", target / "projects", dirs_exist_ok=True)
        return target


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The JSON lines of a session file, split at newline bytes only."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]
