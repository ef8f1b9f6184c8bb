"""A throw-away home folder, so that no test ever reads or writes the real one."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# Variables that would lead an agent, git or prong itself out of the throw-away home, or to a
# terminal or a worker that the tests run in.
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
    # The system's settings of git may name filters, as those of git-lfs.
    "GIT_CONFIG_NOSYSTEM": "1",
}
"""What may be otherwise on another machine, and is the same in every test."""

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True)
class IsolatedHome:
    """A home folder at `root`, a real path. Everything an agent stores lands below it."""

    root: Path

    @classmethod
    def create(cls, root: Path) -> IsolatedHome:
        """Make the folders; `root` may exist already."""
        home = cls(root.resolve())
        home.root.mkdir(parents=True, exist_ok=True)
        for folder in (home.claude, home.codex, home.projects, home.tmp, *home.xdg().values()):
            Path(folder).mkdir(parents=True, exist_ok=True)
        return home

    @property
    def claude(self) -> Path:
        """The config root of Claude Code (the default one: CLAUDE_CONFIG_DIR stays unset)."""
        return self.root / ".claude"

    @property
    def codex(self) -> Path:
        """The config root of Codex (CODEX_HOME)."""
        return self.root / ".codex"

    @property
    def projects(self) -> Path:
        """Where `project()` puts its folders."""
        return self.root / "projects"

    @property
    def tmp(self) -> Path:
        """For what a program would leave in the machine's /tmp."""
        return self.root / "tmp"

    def xdg(self) -> dict[str, str]:
        """The XDG variables, all below the home."""
        return {
            "XDG_CONFIG_HOME": str(self.root / ".config"),
            "XDG_DATA_HOME": str(self.root / ".local/share"),
            "XDG_CACHE_HOME": str(self.root / ".cache"),
            "XDG_STATE_HOME": str(self.root / ".local/state"),
        }

    def variables(self) -> dict[str, str]:
        """What has to be set so that programs use this home."""
        return {
            "HOME": str(self.root),
            "CODEX_HOME": str(self.codex),
            # Panes go into a tmux of its own, never into that of the person.
            "TMUX_TMPDIR": str(self.tmp),
            **self.xdg(),
        }

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """A whole environment for a child process: nothing of ours leaks into it (`env -i` style).

        The proxy variables point at a closed port, so a program that ignores the fake server and
        asks the internet fails at once instead of reaching it.
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
        """A git repository with one commit, inside the home; the same name, the same folder."""
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
