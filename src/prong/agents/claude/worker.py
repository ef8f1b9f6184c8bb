"""Run Claude Code as a worker: options, new sessions, headless turns, state of its processes.

Measured: `sessions/<pid>.json` says `waiting`, and why, as soon as a dialog of a turn opens; the
file does not exist before the trust question is answered.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import msgspec

from prong.agents import argv, headless, jsonl
from prong.agents.argv import Argument, Command, flags
from prong.agents.claude.activity import last_words as last_words  # noqa: PLC0414 -- a part of this module
from prong.agents.claude.launch import GRAMMAR, PROGRAM, SESSION_FLAGS, environment, operand
from prong.agents.claude.launch import as_prompt as as_prompt  # noqa: PLC0414 -- likewise
from prong.agents.claude.printed import ClaudeEvent
from prong.agents.common import checked_id, foot, is_uuid
from prong.agents.headless import TurnOutput, events
from prong.agents.shell import Word
from prong.agents.worker_base import NewSession, OpenSession
from prong.errors import UsageError
from prong.files.regular import read_regular
from prong.model.forks import Launch
from prong.model.sessions import Activity
from prong.model.workers import Process, RunOptions
from prong.processes.process import descendants, is_alive

_SKIP = "--dangerously-skip-permissions"
_OUTPUT_FLAGS = flags("-p --print --output-format --input-format")
"""The worker decides whether to use a terminal."""
_NAME_FLAGS = flags("-n --name")
_MANAGED = Path("/etc/claude-code/managed-settings.json")
_SYNTHETIC = "<synthetic>"
"""Model name of messages from Claude Code itself, such as errors."""


# -- commands -------------------------------------------------------------------------------------


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
    own_flags = {arg for arg in ("--model", _SKIP, "--settings") if arg in own}
    extra_flags = {arg.flag for arg in extra if arg.flag in ("--model", "--settings")}

    def change(words: Sequence[Word]) -> Sequence[Word]:
        kept = [arg for arg in _kept(words) if arg.flag and arg.flag not in own_flags | extra_flags]
        base = [word for arg in kept for word in arg.words]
        return [*base, *map(Word.of, own), *(word for arg in extra for word in arg.words)]

    return argv.rebuilt(command, PROGRAM, change)


def session_in(command: Command) -> str | None:
    """Return the id of the session that a command opens, if it names one."""
    values: dict[str, str] = {}

    def look(words: Sequence[Word]) -> Sequence[Word]:
        for arg in GRAMMAR.arguments(words):
            if arg.flag in SESSION_FLAGS:
                name = "--resume" if arg.flag == "-r" else str(arg.flag)
                values[name] = arg.value
        return words

    argv.rebuilt(command, PROGRAM, look)
    session = values.get("--session-id")
    if session is None and "--fork-session" not in values:
        # A path works too: its file is named after the id.
        session = os.path.basename(values.get("--resume", "")).removesuffix(".jsonl")
    return session.lower() if session and is_uuid(session) else None


def begin(
    command: Command, roots: Sequence[Path], new: NewSession, prompt: str | None = None
) -> Launch:
    own = ["--session-id", checked_id(new.id)] if new.id else []
    words = _rebuilt(command, [*own, *_named(new)], prompt, renamed=new.title is not None)
    return _launch(words, roots, new)


def one_turn(
    command: Command, roots: Sequence[Path], session: NewSession, *, resume: bool
) -> Launch:
    """Build `claude -p`, which reads the prompt from standard input and prints events."""
    if resume and session.id is None:
        raise UsageError("a turn of a session needs the id of the session")
    own = ["--print", "--output-format", "stream-json", "--verbose"]
    if session.id:
        own += ["--resume" if resume else "--session-id", session.id]
    name_flags = [] if resume else _named(session)
    words = _rebuilt(command, [*own, *name_flags], None, renamed=bool(name_flags))
    return _launch(words, roots, session)


def _launch(words: Sequence[str], roots: Sequence[Path], new: NewSession) -> Launch:
    title = new.title or (f"{PROGRAM}:{new.id[:8]}" if new.id else PROGRAM)
    return argv.launch(words, new.cwd, environment(new.root or roots[0]), title)


def _named(new: NewSession) -> list[str]:
    return ["--name", new.title] if new.title else []


def _kept(words: Iterable[Word]) -> list[Argument]:
    dropped = SESSION_FLAGS | _OUTPUT_FLAGS | {"--"}
    return [arg for arg in GRAMMAR.arguments(list(words)) if arg.flag not in dropped]


def _rebuilt(
    command: Command, own: Sequence[str], prompt: str | None, *, renamed: bool
) -> tuple[str, ...]:
    def change(words: Sequence[Word]) -> Sequence[Word]:
        kept = [arg for arg in _kept(words) if arg.flag is not None]
        if renamed:
            kept = [arg for arg in kept if arg.flag not in _NAME_FLAGS]
        return argv.with_prompt(kept, own, operand(prompt))

    return argv.rebuilt(command, PROGRAM, change)


# -- headless output ------------------------------------------------------------------------------


def turn_output(output: Iterable[str]) -> TurnOutput:
    """Parse the last turn in `--output-format stream-json`."""
    session: str | None = None
    over = False
    last: tuple[str | None, str] = (None, "")
    error: str | None = None
    for line in headless.lines_of(output):
        if not headless.is_event(line):
            error = headless.complaint(line) or error
            continue
        for event in events([line], ClaudeEvent):
            session = event.session_id or session
            message = event.message if event.type == "assistant" else None
            if event.type == "system" and event.subtype == "init":
                over, last, error = False, (None, ""), None
            elif event.type == "result":
                over = True
                error = _error(event)
                if event.result and not error:
                    last = (None, event.result)
            elif message and message.model != _SYNTHETIC and not event.parent_tool_use_id:
                over = False
                text = "".join(block.text for block in message.content if block.type == "text")
                # Each block has its own line: join the blocks of a message.
                last = (message.id, last[1] + text if last[0] == message.id else text or last[1])
    return TurnOutput(session, over, last[1], error)


def _error(end: ClaudeEvent) -> str | None:
    """Return the error of a result. API errors look successful but for `is_error`."""
    if not end.is_error:
        return None
    return end.result or "; ".join(end.errors) or end.subtype or "it failed"


# -- running processes ----------------------------------------------------------------------------


class _Process(msgspec.Struct, rename="camel"):
    pid: int
    session_id: str
    status: str | None = None
    waiting_for: str | None = None
    proc_start: str | None = None
    updated_at: float | None = None
    status_updated_at: float | None = None


_process = msgspec.json.Decoder(_Process).decode


def open_sessions(roots: Sequence[Path], pids: Iterable[int]) -> Mapping[int, OpenSession]:
    entries = {pid: _registered(roots, pid) for pid in pids}
    missing = [pid for pid, entry in entries.items() if entry is None]
    # The pid may be a shell or wrapper that started it.
    for pid, children in (descendants(missing) if missing else {}).items():
        entries[pid] = next(filter(None, (_registered(roots, child) for child in children)), None)
    # Without a status it is still starting.
    return {pid: _open_session(proc) for pid, proc in entries.items() if proc and proc.status}


def _registered(roots: Sequence[Path], pid: int) -> _Process | None:
    for root in roots:
        with suppress(OSError):
            content = read_regular(root / "sessions" / f"{pid}.json")
            process = jsonl.decoded(_process, content)
            if process and process.pid == pid and is_alive(Process(pid, process.proc_start)):
                return process
    return None


def _open_session(entry: _Process) -> OpenSession:
    waits = entry.status == "waiting"
    updated = entry.status_updated_at or entry.updated_at
    return OpenSession(
        session=entry.session_id,
        activity=Activity.IDLE if entry.status == "idle" else Activity.BUSY,
        since=_time(updated),
        waits_for=(entry.waiting_for or "a person") if waits else None,
    )


def _time(milliseconds: float | None) -> datetime | None:
    with suppress(ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds else None
    return None


def settings_files(command: Command, folder: Path, root: Path) -> list[Path]:
    """List the settings files: managed, user, project, and the one in the command."""
    extra: list[Path] = []

    def look(words: Sequence[Word]) -> Sequence[Word]:
        for arg in GRAMMAR.arguments(words):
            if arg.flag == "--settings" and not arg.value.lstrip().startswith("{"):
                extra[:] = [folder / arg.value]
        return words

    argv.rebuilt(command, PROGRAM, look)
    project = Path(os.path.realpath(folder)) / ".claude"
    standard = [root / "settings.json", project / "settings.json", project / "settings.local.json"]
    return [_MANAGED, *standard, *extra]


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
