"""Run Codex as a worker: command line, new threads, headless turns, and what its screen shows."""

import json
import os
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from prong.agents import argv
from prong.agents.argv import Argument, Command, flags
from prong.agents.codex.launch import (
    GRAMMAR,
    PROGRAM,
    SESSION_FLAGS,
    arguments,
    checked,
    operand,
    profile_of,
)
from prong.agents.common import foot, is_uuid
from prong.agents.shell import Word
from prong.errors import Unsupported, UsageError
from prong.model.workers import NewSession, RunOptions

_SKIP = "--dangerously-bypass-approvals-and-sandbox"
_ASKING = flags("-a --ask-for-approval --approve-for-me --full-auto -s --sandbox --yolo") | {_SKIP}
_MODEL = flags("-m --model")
_NO_DAEMON = "features.daemon_auto_start=false"
"""Without it, a daemon would hold the thread open and outlive the worker."""
_HEADLESS_FLAGS = flags(
    """
    --add-dir --approve-for-me -c --config --dangerously-bypass-hook-trust --disable --enable -i
    --image --local-provider -m --model --oss -p --profile -s --sandbox --strict-config
    """
) | {_SKIP}
"""Flags of the terminal UI that `codex exec` accepts."""
_SYSTEM = Path("/etc/codex/config.toml")


def command_with(command: Command, options: RunOptions) -> tuple[str, ...]:
    """Add the options to the base command, and remove its prompt and whatever names a thread.

    The command also tells Codex to start no daemon.
    """
    if options.settings:
        raise Unsupported(
            "Codex takes no settings file for one run",
            hint="prong run ... -- --profile NAME, or -- -c KEY=VALUE",
        )
    if options.plugin_dirs:
        raise Unsupported("Codex takes no plug-in folder for one run", hint="codex plugin add")
    extra = argv.extra_flags(options.extra, GRAMMAR, PROGRAM, SESSION_FLAGS)
    own_flags: list[str] = []
    replaced: set[str | None] = set()
    if options.model:
        own_flags += ["--model", options.model]
        replaced |= _MODEL
    if options.skip_permissions:
        own_flags.append(_SKIP)
        replaced |= _ASKING

    def change(words: Sequence[Word]) -> Sequence[Word]:
        kept = [arg for arg in _flags(words) if arg.flag not in replaced]
        settings = [arg.value.replace(" ", "") for arg in kept if arg.flag in ("-c", "--config")]
        no_daemon = [] if _NO_DAEMON in settings else ["-c", _NO_DAEMON]
        base, added = ([word for arg in args for word in arg.words] for args in (kept, extra))
        return [*base, *map(Word.of, [*no_daemon, *own_flags]), *added]

    return argv.rebuilt(command, PROGRAM, change)


def session_in(command: Command) -> str | None:
    """Return the id of the thread that a command resumes, if it gives one."""
    args = list(GRAMMAR.arguments(argv.arguments_of(command, PROGRAM)))
    options = takewhile(lambda arg: arg.flag != "--", args)
    operands = [arg.value for arg in options if arg.flag is None]
    if operands[:1] != ["resume"] or any(arg.flag == "--last" for arg in args):
        return None
    return next((id_.lower() for id_ in operands[1:2] if is_uuid(id_)), None)


def begin(command: Command, new: NewSession, prompt: str | None = None) -> tuple[str, ...]:
    """Build the command for a new thread; Codex chooses its id."""

    def change(words: Sequence[Word]) -> Sequence[Word]:
        return argv.with_prompt(_flags(words), ["-C", str(new.cwd)], operand(prompt))

    return argv.rebuilt(command, PROGRAM, change)


def one_turn(command: Command, session: NewSession, *, resume: bool) -> tuple[str, ...]:
    """Build the `codex exec` command for a turn: prompt on standard input, events as output."""
    if resume and session.id is None:
        raise UsageError("a turn of a thread needs the id of the thread")

    def change(words: Sequence[Word]) -> Sequence[Word]:
        flag_words = [word for arg in _flags(words) for word in _for_exec(arg)]
        own_words = ["--json", "--skip-git-repo-check", "-C", str(session.cwd)]
        own_words += ["resume", checked(session.id)] if resume and session.id else []
        return [Word.of("exec"), *flag_words, *map(Word.of, [*own_words, "-"])]

    return argv.rebuilt(command, PROGRAM, change)


def _flags(words: Sequence[Word]) -> list[Argument]:
    return [arg for arg in arguments(words) if arg.flag not in {None, "--", *SESSION_FLAGS}]


def _for_exec(arg: Argument) -> Sequence[Word]:
    if arg.flag in _HEADLESS_FLAGS:
        return arg.words
    if arg.flag in ("-a", "--ask-for-approval"):
        return [Word.of("-c"), Word.of(f"approval_policy={json.dumps(arg.value)}")]
    return [Word.of(_SKIP)] if arg.flag == "--yolo" else []


def settings_files(command: Command, folder: Path, root: Path) -> list[Path]:
    """List the settings files of the machine, the user, the command's profile and the project.

    Codex reads a project's settings in all folders from the repository root down.
    """
    profile = profile_of(_flags(argv.arguments_of(command, PROGRAM)))
    current = Path(os.path.realpath(folder))
    project_folders = [current]
    for parent in current.parents:
        if (project_folders[-1] / ".git").exists():
            break
        project_folders.append(parent)
    else:
        project_folders = [current]
    projects = [path / ".codex" / "config.toml" for path in reversed(project_folders)]
    profiles = [root / f"{profile}.config.toml"] if profile else []
    return [_SYSTEM, root / "config.toml", *profiles, *projects]


_DIALOGS = {
    "Press enter to confirm or esc to cancel": "permission",
    "enter continue \u00b7 esc quit": "trust",
    "enter continue \u00b7 esc back": "trust",  # newer wording
}
"""The key hints at the bottom of each dialog."""


def dialog_on(screen: str) -> str | None:
    rows = foot(screen)
    return next((kind for words, kind in _DIALOGS.items() if words in rows), None)


_INPUT_SIGNS = {"\u203a": "", "!": "!"}
"""The signs that start the input line, and the prefix for the mode of each."""


def input_on(screen: str) -> str | None:
    """Return the text in Codex's input line, which has an empty row and hints below it."""
    rows = screen.splitlines()
    signs = [i for i, row in enumerate(rows) if row[:1] in _INPUT_SIGNS]
    empty = [i for i, row in enumerate(rows) if not row.strip() and any(rows[i + 1 :])]
    if not signs or not empty or empty[-1] < signs[-1]:
        return None
    first = rows[signs[-1]]
    return _INPUT_SIGNS[first[0]] + "\n".join([first[1:], *rows[signs[-1] + 1 : empty[-1]]]).strip()
