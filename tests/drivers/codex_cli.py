"""The real Codex program, run headless against the fake server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prong.testing.home import IsolatedHome
from prong.testing.wait import PATIENCE
from tests.drivers.programs import find_program

CONFIG = """\
model = "fake-model"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
{top}
[model_providers.fake]
name = "Fake"
base_url = "{url}/v1"
env_key = "FAKE_OPENAI_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
[feedback]
enabled = false
[features]
plugins = false
remote_plugin = false
plugin_sharing = false
apps = false
daemon_auto_start = false
[tui]
animations = false
show_tooltips = false
screen_reader_detection_done = true
"""

ROLLOUT = re.compile(
    r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(?P<thread>[0-9a-f-]{36})(?:_(?P<segment>[0-9a-f-]{36}))?\.jsonl$"
)


@dataclass(frozen=True)
class CodexRun:
    """What a headless run gave back."""

    code: int
    thread_id: str
    result: str
    failed: bool
    stderr: str
    events: list[dict[str, Any]] = field(repr=False)


class CodexCli:
    """Starts `codex` in a clean environment. `home` is its whole world, `url` its only model."""

    def __init__(
        self, home: IsolatedHome, url: str, program: Path | None = None, settings: str = ""
    ) -> None:
        self.home = home
        self.url = url
        self.program = native_program(program or find_program("codex", "PRONG_TEST_CODEX"))
        self._trusted: set[Path] = set()
        self._settings = settings
        self._write_config()

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment of every run."""
        return self.home.env({"FAKE_OPENAI_KEY": "sk-test-0000", **(extra or {})})

    def trust(self, cwd: Path) -> None:
        """Answer the trust question for a folder beforehand."""
        if cwd.resolve() not in self._trusted:
            self._trusted.add(cwd.resolve())
            self._write_config()

    def configure(self, settings: str) -> None:
        """Add top-level settings (TOML lines) to config.toml."""
        self._settings += settings + "\n"
        self._write_config()

    def _write_config(self) -> None:
        text = CONFIG.format(url=self.url, top=self._settings)
        for path in sorted(self._trusted):
            text += f'[projects."{path}"]\ntrust_level = "trusted"\n'
        (self.home.codex / "config.toml").write_text(text, encoding="utf-8")

    def run(
        self,
        prompt: str,
        cwd: Path,
        *,
        timeout: float = PATIENCE,
        env: Mapping[str, str] | None = None,
    ) -> CodexRun:
        """One headless turn in a new thread."""
        return self._exec([prompt], cwd, timeout, env)

    def resume(
        self,
        thread_id: str,
        prompt: str,
        cwd: Path,
        *,
        timeout: float = PATIENCE,
        env: Mapping[str, str] | None = None,
    ) -> CodexRun:
        """One headless turn in an existing thread; its file grows."""
        return self._exec(["resume", thread_id, prompt], cwd, timeout, env)

    def fork(
        self,
        thread_id: str,
        prompt: str | None,
        cwd: Path,
        *,
        ephemeral: bool = False,
        timeout: float = PATIENCE,
    ) -> CodexRun:
        """A fork of the whole thread, with or without a first turn of its own."""
        flags = ["--ephemeral"] if ephemeral else []
        return self._exec(["fork", *flags, thread_id, *([prompt] if prompt else [])], cwd, timeout)

    def _exec(
        self,
        arguments: Sequence[str],
        cwd: Path,
        timeout: float,
        env: Mapping[str, str] | None = None,
    ) -> CodexRun:
        self.trust(cwd)
        head, *rest = arguments
        subcommand = [head] if head in ("resume", "fork") else []
        words = rest if subcommand else list(arguments)
        argv = [str(self.program), "exec", "-C", str(cwd), *subcommand, "--json", *words]
        done = subprocess.run(
            argv,
            cwd=cwd,
            env=self.env(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        # Not splitlines(): the text of a message may hold U+2028 and its like.
        events = [json.loads(row) for row in done.stdout.split("\n") if row.startswith("{")]
        started = [e["thread_id"] for e in events if e["type"] == "thread.started"]
        items = [e["item"] for e in events if e["type"] == "item.completed"]
        said = [item["text"] for item in items if item["type"] == "agent_message"]
        return CodexRun(
            code=done.returncode,
            thread_id=started[0] if started else "",
            result=said[-1] if said else "",
            failed=any(e["type"] == "turn.failed" for e in events),
            stderr=done.stderr,
            events=events,
        )

    # -- files --------------------------------------------------------------------------------

    def rollouts(self, thread_id: str) -> list[Path]:
        """All files of a thread: its own and its later segments, the oldest first."""
        files = (self.home.codex / "sessions").rglob("rollout-*.jsonl")
        mine = [
            path for path in files if (m := ROLLOUT.search(path.name)) and m["thread"] == thread_id
        ]
        return sorted(mine, key=lambda path: path.name)

    def live_rollout(self, thread_id: str) -> Path:
        """The file that the thread writes to now."""
        found = self.rollouts(thread_id)
        if not found:
            raise FileNotFoundError(f"Codex wrote no thread {thread_id}")
        return max(found, key=lambda path: path.stat().st_mtime_ns)

    def thread_ids(self) -> list[str]:
        """The ids of all threads on disk, in order of their file names (the time comes first)."""
        names = sorted(p.name for p in (self.home.codex / "sessions").rglob("rollout-*.jsonl"))
        ids = [match["thread"] for name in names if (match := ROLLOUT.search(name))]
        return list(dict.fromkeys(ids))

    def copy_sessions(self, target: Path) -> Path:
        """Copy the sessions aside, as they are now, in the layout of a config root.

        The databases stay behind: they hold absolute paths of this home.
        """
        shutil.copytree(self.home.codex / "sessions", target / "sessions", dirs_exist_ok=True)
        for name in ("session_index.jsonl", "history.jsonl"):
            if (self.home.codex / name).exists():
                shutil.copy2(self.home.codex / name, target / name)
        return target


def native_program(path: Path) -> Path:
    """The native binary behind the npm wrapper: it starts faster and has the pid that we see."""
    if path.suffix != ".js":
        return path
    package = path.parent.parent.parent
    found = sorted(package.glob("codex-*/vendor/*/bin/codex"))
    return found[0] if found else path
