"""The hooks of Claude Code: in its settings, or for one run."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from prong.agents import settings_file
from prong.edits import write_private
from prong.ports import HookedFiles, HookScope

EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "StopFailure", "Notification", "SessionEnd")


class ClaudeHooks:
    """Where they are kept and how they are written."""

    agent = "claude"

    def __init__(self, root: Path) -> None:
        self._root = root

    def files(self, scope: HookScope, folder: Path) -> Sequence[Path]:
        if scope == "user":
            return (self._root / "settings.json",)
        # The one that Claude Code keeps out of git.
        return (Path(os.path.realpath(folder)) / ".claude" / "settings.local.json",)

    def added(self, contents: Mapping[Path, bytes | None], command: Sequence[str]) -> HookedFiles:
        ((path, content),) = contents.items()
        line = settings_file.command_line([*command, self.agent])
        new = settings_file.with_hooks(path, content, _commands(line))
        notes = (f'{path} has "disableAllHooks": Claude Code will run none',)
        return HookedFiles({path: new}, notes if settings_file.has(new, "disableAllHooks") else ())

    def taken_out(self, contents: Mapping[Path, bytes | None]) -> Mapping[Path, bytes | None]:
        return {path: settings_file.without_hooks(path, one) for path, one in contents.items()}

    def found(self, contents: Mapping[Path, bytes | None]) -> Mapping[str, str]:
        ((path, content),) = contents.items()
        return {one.event: one.command for one in settings_file.places(path, content)}

    def for_one_run(self, command: Sequence[str], folder: Path) -> Sequence[str]:
        """Further arguments of `claude`; they need a file, written into this folder.

        Only the last `--settings` counts, so a command that has one must not get these.
        """
        line = settings_file.command_line([*command, self.agent])
        path = folder / "claude-hooks.json"
        content = settings_file.with_hooks(path, None, _commands(line))
        write_private(path, content)
        return ("--settings", str(path))


def _commands(line: str) -> dict[str, str]:
    return dict.fromkeys(EVENTS, line)
