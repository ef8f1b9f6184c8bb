"""Run Claude Code as a worker: options, new sessions, headless turns, and what its screen shows."""

import os
from itertools import pairwise
from pathlib import Path

from prong.agents import argv
from prong.agents.argv import Command, flags
from prong.agents.claude.launch import GRAMMAR, PRINTED, PROGRAM, SESSION_FLAGS, identity, rebuilt
from prong.agents.common import checked_id, foot, is_uuid
from prong.errors import UsageError
from prong.model.workers import NewSession, RunOptions

_SKIP = "--dangerously-skip-permissions"
_OUTPUT_FLAGS = flags("-p --print --output-format --input-format")
"""The worker decides whether to use a terminal."""
_NOT_OF_A_WORKER = _OUTPUT_FLAGS | {None}
"""Also the prompt, which has no flag."""
_MANAGED = Path("/etc/claude-code/managed-settings.json")


def command_with(command: Command, options: RunOptions) -> tuple[str, ...]:
    """Add the options to the base command; remove session flags and the prompt."""
    extra = argv.extra_flags(options.extra, GRAMMAR, PROGRAM, SESSION_FLAGS | _OUTPUT_FLAGS)
    own: list[str] = []
    if options.model:
        own += ["--model", options.model]
    if options.skip_permissions:
        own.append(_SKIP)
    if options.settings:
        own += ["--settings", str(options.settings.absolute())]
    for folder in options.plugin_dirs:
        own += ["--plugin-dir", str(folder.absolute())]
    # These can be given only once: replace the user's.
    replaced = {flag for flag in ("--model", _SKIP, "--settings") if flag in own}
    replaced |= {arg.flag for arg in extra if arg.flag in ("--model", "--settings")}
    own += [word.text for arg in extra for word in arg.words]
    return rebuilt(command, own, dropped=_NOT_OF_A_WORKER | replaced)


def session_in(command: Command) -> str | None:
    """Return the id of the session that a command opens, if it names one."""
    arguments = GRAMMAR.arguments(argv.arguments_of(command, PROGRAM))
    values = {"--resume" if arg.flag == "-r" else arg.flag: arg.value for arg in arguments}
    session = values.get("--session-id")
    if session is None and "--fork-session" not in values:
        # A path works too: its file is named after the id.
        session = os.path.basename(values.get("--resume", "")).removesuffix(".jsonl")
    return session.lower() if session and is_uuid(session) else None


def begin(command: Command, new: NewSession, prompt: str | None = None) -> tuple[str, ...]:
    own = identity(checked_id(new.id) if new.id else None, new.title)
    return rebuilt(command, own, prompt, dropped=_NOT_OF_A_WORKER)


def one_turn(command: Command, session: NewSession, *, resume: bool) -> tuple[str, ...]:
    """Build `claude -p`, which reads the prompt from standard input and prints events."""
    if resume and session.id is None:
        raise UsageError("a turn of a session needs the id of the session")
    own = ["--resume", str(session.id)] if resume else identity(session.id, session.title)
    return rebuilt(command, ["--print", *PRINTED, *own], dropped=_NOT_OF_A_WORKER)


def settings_files(command: Command, folder: Path, root: Path) -> list[Path]:
    """List the settings files: managed, user, project, and the one in the command."""
    arguments = GRAMMAR.arguments(argv.arguments_of(command, PROGRAM))
    values = [arg.value for arg in arguments if arg.flag == "--settings"]
    extra = [folder / value for value in values if not value.lstrip().startswith("{")]
    project = Path(os.path.realpath(folder)) / ".claude"
    standard = [root / "settings.json", project / "settings.json", project / "settings.local.json"]
    return [_MANAGED, *standard, *extra[-1:]]


_DIALOG_ROWS = 15
_DIALOGS = {
    "Yes, I trust this folder": "trust",
    "Do you want to": "permission",
    "Would you like to proceed?": "permission",
    "Enter to select": "question",
}


def dialog_on(screen: str) -> str | None:
    """Return the kind of dialog, whose menu replaces the input line."""
    if "Esc to cancel" not in foot(screen):
        return None
    lower = foot(screen, _DIALOG_ROWS)
    return next((kind for words, kind in _DIALOGS.items() if words in lower), None)


_RULE = "\u2500" * 8
_INPUT_SIGNS = {"\u276f": "", "!": "!"}
"""Sign at the start of the input line -> prefix for its mode."""


def input_on(screen: str) -> str | None:
    """Return the text of the input line, which is between two rules."""
    rows = screen.splitlines()
    rules = [at for at, row in enumerate(rows) if row.startswith(_RULE)]
    for above, below in reversed(list(pairwise(rules))):
        inside = rows[above + 1 : below]
        if inside and inside[0][:1] in _INPUT_SIGNS:
            sign = _INPUT_SIGNS[inside[0][0]]
            return sign + "\n".join([inside[0][1:], *inside[1:]]).strip()
    return None
