"""The hooks of Claude Code: in its settings, or for one run."""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from prong.agents import argv
from prong.agents.base import HookedFiles, HookScope
from prong.agents.claude.launch import GRAMMAR, PROGRAM
from prong.agents.settings import file
from prong.agents.shell import Word
from prong.errors import ConfigError
from prong.files.edits import read, write_private
from prong.files.regular import read_regular
from prong.model.forks import Launch
from prong.model.record import replace

EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PermissionRequest", "Stop", "StopFailure"),
    *("Notification", "SessionEnd"),
)
_OFF = "disableAllHooks"
_KEPT_DAYS = 30
"""For so long after its last start, the settings of a run are kept."""


class ClaudeHooks:
    """Where they are kept and how they are written."""

    agent = "claude"

    def __init__(self, root: Path) -> None:
        self._root = root

    def files(self, scope: HookScope, folder: Path) -> Sequence[Path]:
        if scope == "user":
            return (self._root / "settings.json",)
        # The one that is for one user only. Git ignores it where Claude Code has made it itself.
        return (Path(os.path.realpath(folder)) / ".claude" / "settings.local.json",)

    def added(self, contents: Mapping[Path, bytes | None], command: Sequence[str]) -> HookedFiles:
        ((path, content),) = contents.items()
        line = file.command_line([*command, self.agent])
        new = file.with_hooks(path, content, _commands(line))
        return HookedFiles({path: new})

    def taken_out(self, contents: Mapping[Path, bytes | None]) -> Mapping[Path, bytes | None]:
        return {path: file.without_hooks(path, one) for path, one in contents.items()}

    def found(self, contents: Mapping[Path, bytes | None]) -> Mapping[str, str]:
        ((path, content),) = contents.items()
        return {one.event: one.command for one in file.places(path, content)}

    def turned_off(self, scope: HookScope, folder: Path) -> ConfigError | None:
        """What to say where settings turn all hooks off. Those nearest to the folder count."""
        found = [*self.files("user", folder)]
        if scope == "project":
            (own,) = self.files("project", folder)
            found += [own.with_name("settings.json"), own]
        said = [(path, file.switch(read(path), _OFF)) for path in found]
        told = [(path, value) for path, value in said if value is not None]
        path, off = told[-1] if told else (None, False)
        if not off:
            return None
        message = f'{path} has "{_OFF}": Claude Code runs none'
        return ConfigError(message, hint=f'take "{_OFF}" out of {path}', path=str(path))

    def for_one_run(self, launch: Launch, command: Sequence[str], folder: Path) -> Launch:
        """By a settings file of its own. Only the last `--settings` counts, so it holds theirs."""
        line = file.command_line([*command, self.agent])

        def change(words: Sequence[Word]) -> Sequence[Word]:
            arguments = list(GRAMMAR.arguments(words))
            theirs = [one for one in arguments if one.flag == "--settings"]
            name = theirs[-1].value if theirs else None
            content = _settings(name, launch.cwd) if name is not None else None
            own = file.with_hooks(Path(name or "--settings"), content, _commands(line))
            _forget_old(folder)
            path = folder / f"claude-{sha256(own).hexdigest()[:12]}.json"
            write_private(path, own)
            kept = [word for one in arguments if one not in theirs for word in one.words]
            return [Word.of("--settings"), Word.of(str(path)), *kept]

        return replace(launch, argv=argv.rebuilt(launch.argv, PROGRAM, change))


def _forget_old(folder: Path) -> None:
    """Remove the settings of runs that nobody has started for a month.

    A run that is older than that keeps what it has read. Each start writes its file anew, so that
    those in use are never old.
    """
    oldest = time.time() - _KEPT_DAYS * 86400
    for path in folder.glob("claude-*.json"):
        with suppress(OSError):  # another start was faster
            if path.stat().st_mtime < oldest:
                path.unlink()


def _settings(value: str, folder: Path) -> bytes | None:
    """What `--settings` names, a file or the settings themselves, without hooks of ours."""
    if value.lstrip().startswith("{"):
        content = value.encode("utf-8", "surrogateescape")
    else:
        try:
            content = read_regular(folder / value)
        except OSError as error:
            raise ConfigError(f"cannot read {value}: {error.strerror}", path=value) from None
    return file.without_hooks(Path(value), content)


def _commands(line: str) -> dict[str, str]:
    return dict.fromkeys(EVENTS, line)
