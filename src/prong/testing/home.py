"""Temporary home folder, so that tests never touch the real one."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# Variables that would lead an agent, git or prong out of the temporary home, or to a terminal or
# worker that runs the tests.
ESCAPES = (
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_PROJECT_DIR_NAME",
    "CLAUDE_CODE_TMPDIR",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_PROJECT_DIR",
    "CLAUDECODE",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "CODEX_SQLITE_HOME",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    *(f"GIT_{name}" for name in ("DIR", "WORK_TREE", "INDEX_FILE", "PAGER", "EDITOR")),
    *(f"GIT_{name}" for name in ("AUTHOR_DATE", "COMMITTER_DATE", "TEMPLATE_DIR")),
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_SYSTEM",
    "ITERM_SESSION_ID",
    "KITTY_LISTEN_ON",
    "KITTY_WINDOW_ID",
    "LANGUAGE",
    "LC_ALL",
    "PRONG_AGENT",
    "PRONG_COMMIT_TURNS",
    "PRONG_HOOK",
    "PRONG_HOOK_SECONDS",
    "PRONG_PUSH",
    "PRONG_WORKER",
    "TERM_PROGRAM",
    "TMUX",
    "TMUX_PANE",
    "WEZTERM_PANE",
    "WEZTERM_UNIX_SOCKET",
)

MACHINE = {
    "TERM": "xterm-256color",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    # System-wide git settings may define filters, such as git-lfs.
    "GIT_CONFIG_NOSYSTEM": "1",
}
"""Settings that differ between machines, fixed for all tests."""

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True)
class IsolatedHome:
    """A home folder at `root`, a real path. Agents store all their files below it."""

    root: Path

    @classmethod
    def create(cls, root: Path) -> IsolatedHome:
        """Create the folders; `root` may exist."""
        home = cls(root.resolve())
        home.root.mkdir(parents=True, exist_ok=True)
        for folder in (home.claude, home.codex, home.projects, home.tmp, *home.xdg().values()):
            Path(folder).mkdir(parents=True, exist_ok=True)
        return home

    @property
    def claude(self) -> Path:
        """The root of Claude Code (the default one: CLAUDE_CONFIG_DIR stays unset)."""
        return self.root / ".claude"

    @property
    def codex(self) -> Path:
        """The root of Codex (CODEX_HOME)."""
        return self.root / ".codex"

    @property
    def projects(self) -> Path:
        """The parent folder of projects."""
        return self.root / "projects"

    @property
    def tmp(self) -> Path:
        """A replacement for the machine's /tmp."""
        return self.root / "tmp"

    def xdg(self) -> dict[str, str]:
        """Return the XDG variables, all below the home."""
        return {
            "XDG_CONFIG_HOME": str(self.root / ".config"),
            "XDG_DATA_HOME": str(self.root / ".local/share"),
            "XDG_CACHE_HOME": str(self.root / ".cache"),
            "XDG_STATE_HOME": str(self.root / ".local/state"),
        }

    def variables(self) -> dict[str, str]:
        """Return variables that make programs use this home."""
        return {
            "HOME": str(self.root),
            "CODEX_HOME": str(self.codex),
            # Panes open in a separate tmux server, never in the user's.
            "TMUX_TMPDIR": str(self.tmp),
            **self.xdg(),
        }

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return a whole environment for a child process that inherits nothing (like `env -i`).

        The proxy variables point to a closed port, so that a program that bypasses the fake server
        fails at once instead of reaching the internet.
        """
        return {
            "PATH": SYSTEM_PATH,
            **self.variables(),
            **MACHINE,
            "SHELL": "/bin/bash",
            "HTTP_PROXY": "http://127.0.0.1:9",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1,localhost",
            "GIT_AUTHOR_NAME": "Test",
            "GIT_AUTHOR_EMAIL": "test@example.invalid",
            "GIT_COMMITTER_NAME": "Test",
            "GIT_COMMITTER_EMAIL": "test@example.invalid",
            **(extra or {}),
        }

    def project(self, name: str = "project") -> Path:
        """Create a git repository with one commit below the home, or return the existing one."""
        path = self.projects / name
        if (path / ".git").is_dir():
            return path
        path.mkdir(parents=True, exist_ok=True)
        (path / "README.md").write_text(f"# {name}\n", encoding="utf-8")
        for argv in (
            ["git", "init", "--quiet", "--initial-branch=main"],
            ["git", "add", "--all"],
            ["git", "commit", "--quiet", "--message=start"],
        ):
            subprocess.run(argv, cwd=path, env=self.env(), check=True, capture_output=True)
        return path
