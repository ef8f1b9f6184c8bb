"""Install hooks in Claude Code's settings, or for one run."""

import os
import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from prong.agents import argv
from prong.agents.argv import Command
from prong.agents.base import AgentHooks, HookedFiles, HookScope
from prong.agents.claude.launch import GRAMMAR, PROGRAM
from prong.agents.settings import file
from prong.agents.shell import Word
from prong.errors import ConfigError
from prong.files.atomic import write_private
from prong.files.edits import read
from prong.files.regular import read_regular
from prong.model.forks import Launch
from prong.model.record import replace

EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PermissionRequest", "Stop", "StopFailure"),
    *("Notification", "SessionEnd"),
)
_OFF = "disableAllHooks"
_KEPT_DAYS = 30
"""Days to keep the settings of a run after its last start."""


class ClaudeHooks(AgentHooks):
    """Editor of Claude Code's hooks."""

    agent = "claude"

    def __init__(self, root: Path) -> None:
        self._root = root

    def files(self, scope: HookScope, folder: Path) -> Sequence[Path]:
        if scope == "user":
            return (self._root / "settings.json",)
        # The one for this user only. If Claude Code created it, git ignores it.
        return (Path(os.path.realpath(folder)) / ".claude" / "settings.local.json",)

    def added(self, contents: Mapping[Path, bytes | None], command: Sequence[str]) -> HookedFiles:
        ((path, content),) = contents.items()
        line = shlex.join([*command, self.agent])
        new = file.with_hooks(path, content, dict.fromkeys(EVENTS, line))
        return HookedFiles({path: new})

    def taken_out(self, contents: Mapping[Path, bytes | None]) -> Mapping[Path, bytes | None]:
        return {path: file.without_hooks(path, content) for path, content in contents.items()}

    def found(self, contents: Mapping[Path, bytes | None]) -> Mapping[str, str]:
        ((path, content),) = contents.items()
        return {place.event: place.command for place in file.places(path, content)}

    def turned_off(self, scope: HookScope, folder: Path) -> ConfigError | None:
        """Return an error if settings disable all hooks; those nearest to the folder win."""
        paths = [*self.files("user", folder)]
        if scope == "project":
            (own,) = self.files("project", folder)
            paths += [own.with_name("settings.json"), own]
        for path in reversed(paths):
            off = file.switch(read(path), _OFF)
            if off:
                message = f'{path} has "{_OFF}": Claude Code runs none'
                return ConfigError(message, hint=f'take "{_OFF}" out of {path}', path=str(path))
            if off is not None:
                break
        return None

    def for_one_run(self, launch: Launch, command: Sequence[str], folder: Path) -> Launch:
        """Add a `--settings` file, which includes the user's: only the last one counts."""
        line = shlex.join([*command, self.agent])

        def change(words: Sequence[Word]) -> Sequence[Word]:
            arguments = list(GRAMMAR.arguments(words))
            user_settings = [arg for arg in arguments if arg.flag == "--settings"]
            name = user_settings[-1].value if user_settings else None
            content = _settings(name, launch.cwd) if name is not None else None
            own = file.with_hooks(Path(name or "--settings"), content, dict.fromkeys(EVENTS, line))
            _forget_old(folder)
            path = folder / f"claude-{sha256(own).hexdigest()[:12]}.json"
            write_private(path, own)
            kept = [word for arg in arguments if arg not in user_settings for word in arg.words]
            return [Word.of("--settings"), Word.of(str(path)), *kept]

        return replace(launch, argv=argv.rebuilt(launch.argv, PROGRAM, change))


def editor(root: Path, _: Command) -> ClaudeHooks:
    return ClaudeHooks(root)


def _forget_old(folder: Path) -> None:
    """Delete the settings of runs that were not started for a month.

    Each start rewrites its file, so only a run older than that loses it, after reading it.
    """
    oldest = time.time() - _KEPT_DAYS * 86400
    for path in folder.glob("claude-*.json"):
        with suppress(OSError):  # another start deleted it
            if path.stat().st_mtime < oldest:
                path.unlink()


def _settings(value: str, folder: Path) -> bytes | None:
    """Read the value of `--settings`, a file or JSON, without our hooks."""
    if value.lstrip().startswith("{"):
        content = value.encode("utf-8", "surrogateescape")
    else:
        try:
            content = read_regular(folder / value)
        except OSError as error:
            raise ConfigError(f"cannot read {value}: {error.strerror}", path=value) from None
    return file.without_hooks(Path(value), content)
