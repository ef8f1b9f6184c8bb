"""Claude Code as a worker: its options, a new session, turns without a terminal, what it does now.

Measured: `sessions/<pid>.json` says `waiting` as soon as a dialog of a turn is
open, and why; it is not there before the question of trust is answered.
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
"""Whether there is a terminal is for the worker to say."""
_NAME_FLAGS = flags("-n --name")
_MANAGED = Path("/etc/claude-code/managed-settings.json")
_SYNTHETIC = "<synthetic>"
"""The model that Claude Code names when it speaks itself, of an error."""


# -- the command ----------------------------------------------------------------------------------


def command_with(command: Command, options: RunOptions) -> tuple[str, ...]:
    """The base command with the options; what names a session and the prompt are taken out."""
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
    # Of these only one counts: ours, then.
    replaced = {one for one in ("--model", _SKIP, "--settings") if one in own}
    given = {one.flag for one in extra if one.flag in ("--model", "--settings")}

    def change(words: Sequence[Word]) -> Sequence[Word]:
        kept = [one for one in _kept(words) if one.flag and one.flag not in replaced | given]
        mine = [word for one in kept for word in one.words]
        return [*mine, *map(Word.of, own), *(word for one in extra for word in one.words)]

    return argv.rebuilt(command, PROGRAM, change)


def session_in(command: Command) -> str | None:
    """The session that a command opens, where it says its id."""
    found: dict[str, str] = {}

    def look(words: Sequence[Word]) -> Sequence[Word]:
        for one in GRAMMAR.arguments(words):
            if one.flag in SESSION_FLAGS:
                name = "--resume" if one.flag == "-r" else str(one.flag)
                found[name] = one.value
        return words

    argv.rebuilt(command, PROGRAM, look)
    given = found.get("--session-id")
    if given is None and "--fork-session" not in found:
        # A path is as good as an id, since files are named by it.
        given = os.path.basename(found.get("--resume", "")).removesuffix(".jsonl")
    return given.lower() if given and is_uuid(given) else None


def begin(
    command: Command, roots: Sequence[Path], new: NewSession, prompt: str | None = None
) -> Launch:
    own = ["--session-id", checked_id(new.id)] if new.id else []
    words = _rebuilt(command, [*own, *_named(new)], prompt, renamed=new.title is not None)
    return _launch(words, roots, new)


def one_turn(
    command: Command, roots: Sequence[Path], session: NewSession, *, resume: bool
) -> Launch:
    """`claude -p`: the prompt comes on standard input, a line for each event goes to output."""
    if resume and session.id is None:
        raise UsageError("a turn of a session needs the id of the session")
    own = ["--print", "--output-format", "stream-json", "--verbose"]
    if session.id:
        own += ["--resume" if resume else "--session-id", session.id]
    named = [] if resume else _named(session)
    words = _rebuilt(command, [*own, *named], None, renamed=bool(named))
    return _launch(words, roots, session)


def _launch(words: Sequence[str], roots: Sequence[Path], new: NewSession) -> Launch:
    title = new.title or (f"{PROGRAM}:{new.id[:8]}" if new.id else PROGRAM)
    return argv.launch(words, new.cwd, environment(new.root or roots[0]), title)


def _named(new: NewSession) -> list[str]:
    return ["--name", new.title] if new.title else []


def _kept(words: Iterable[Word]) -> list[Argument]:
    dropped = SESSION_FLAGS | _OUTPUT_FLAGS | {"--"}
    return [one for one in GRAMMAR.arguments(list(words)) if one.flag not in dropped]


def _rebuilt(
    command: Command, own: Sequence[str], prompt: str | None, *, renamed: bool
) -> tuple[str, ...]:
    def change(words: Sequence[Word]) -> Sequence[Word]:
        kept = [one for one in _kept(words) if one.flag is not None]
        if renamed:
            kept = [one for one in kept if one.flag not in _NAME_FLAGS]
        return argv.with_prompt(kept, own, operand(prompt))

    return argv.rebuilt(command, PROGRAM, change)


# -- what a turn without a terminal printed -------------------------------------------------------


def turn_output(output: Iterable[str]) -> TurnOutput:
    """What the lines of `--output-format stream-json` say of the last turn."""
    session: str | None = None
    over = False
    said: tuple[str | None, str] = (None, "")
    error: str | None = None
    for line in headless.lines_of(output):
        if not headless.is_event(line):
            error = headless.complaint(line) or error
            continue
        for event in events([line], ClaudeEvent):
            session = event.session_id or session
            message = event.message if event.type == "assistant" else None
            if event.type == "system" and event.subtype == "init":
                over, said, error = False, (None, ""), None
            elif event.type == "result":
                over = True
                error = _error(event)
                if event.result and not error:
                    said = (None, event.result)
            elif message and message.model != _SYNTHETIC and not event.parent_tool_use_id:
                over = False
                text = "".join(block.text for block in message.content if block.type == "text")
                # A line for each block: the blocks of one message belong together.
                said = (message.id, said[1] + text if said[0] == message.id else text or said[1])
    return TurnOutput(session, over, said[1], error)


def _error(end: ClaudeEvent) -> str | None:
    """An error of the API is a success to the program, but for one field."""
    if not end.is_error:
        return None
    return end.result or "; ".join(end.errors) or end.subtype or "it failed"


# -- what living processes do ---------------------------------------------------------------------


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
    # A shell, or a program of the person's own, that started it.
    for pid, below in (descendants(missing) if missing else {}).items():
        entries[pid] = next(filter(None, (_registered(roots, child) for child in below)), None)
    # One that has not said yet what it does is still starting.
    return {pid: _open_session(one) for pid, one in entries.items() if one and one.status}


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
    told = entry.status_updated_at or entry.updated_at
    return OpenSession(
        session=entry.session_id,
        activity=Activity.IDLE if entry.status == "idle" else Activity.BUSY,
        since=_time(told),
        waits_for=(entry.waiting_for or "a person") if waits else None,
    )


def _time(milliseconds: float | None) -> datetime | None:
    with suppress(ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds else None
    return None


def settings_files(command: Command, folder: Path, root: Path) -> list[Path]:
    """Those of the person, of the project, of the machine, and the one that the command names."""
    named: list[Path] = []

    def look(words: Sequence[Word]) -> Sequence[Word]:
        for one in GRAMMAR.arguments(words):
            if one.flag == "--settings" and not one.value.lstrip().startswith("{"):
                named[:] = [folder / one.value]
        return words

    argv.rebuilt(command, PROGRAM, look)
    project = Path(os.path.realpath(folder)) / ".claude"
    usual = [root / "settings.json", project / "settings.json", project / "settings.local.json"]
    return [_MANAGED, *usual, *named]


_DIALOG_ROWS = 15
_DIALOGS = {
    "Yes, I trust this folder": "trust",
    "Do you want to": "permission",
    "Would you like to proceed?": "permission",
    "Enter to select": "question",
}


def dialog_on(screen: str) -> str | None:
    """What Claude Code asks. A menu stands where the line for input was."""
    if "Esc to cancel" not in foot(screen):
        return None
    lower = foot(screen, _DIALOG_ROWS)
    return next((kind for words, kind in _DIALOGS.items() if words in lower), None)


_RULE = "\u2500" * 8
_INPUT_SIGNS = {"\u276f": "", "!": "!"}
"""What the line for input begins with, and the mode that it tells of."""


def input_on(screen: str) -> str | None:
    """What stands in Claude Code's line for input, which is between two rules."""
    rows = screen.splitlines()
    rules = [at for at, row in enumerate(rows) if row.startswith(_RULE)]
    for above, below in reversed(list(pairwise(rules))):
        inside = rows[above + 1 : below]
        if inside and inside[0][:1] in _INPUT_SIGNS:
            sign = _INPUT_SIGNS[inside[0][0]]
            return sign + "\n".join([inside[0][1:], *inside[1:]]).strip()
    return None
