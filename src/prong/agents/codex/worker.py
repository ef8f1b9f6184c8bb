"""Run Codex as a worker: command line, new threads, headless turns and live state.

Measured: the terminal UI locks its thread's file as soon as it accepts input, and keeps the locks
of all threads it had open before (`/new`). A permission request leaves no trace in Codex's files;
only the hook `PermissionRequest` reports it, at once.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, takewhile
from pathlib import Path

import msgspec

from prong.agents import argv, headless, jsonl
from prong.agents.argv import Argument, Command, flags
from prong.agents.codex import activity as live
from prong.agents.codex.activity import last_words as last_words  # noqa: PLC0414 -- a part of this module
from prong.agents.codex.launch import (
    GRAMMAR,
    PROGRAM,
    SESSION_FLAGS,
    ExecEvent,
    arguments,
    checked,
    environment,
    operand,
    profile_of,
)
from prong.agents.codex.launch import as_prompt as as_prompt  # noqa: PLC0414 -- likewise
from prong.agents.codex.library import RolloutName
from prong.agents.common import foot, is_uuid
from prong.agents.headless import TurnOutput, events
from prong.agents.shell import Word
from prong.errors import Unsupported, UsageError
from prong.files.regular import open_regular
from prong.model.forks import Launch
from prong.model.record import Record
from prong.model.sessions import Activity
from prong.model.workers import NewSession, OpenSession, RunOptions
from prong.processes import process

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


# -- the command ----------------------------------------------------------------------------------


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
    own_flags = ["--model", options.model] if options.model else []
    own_flags += [_SKIP] if options.skip_permissions else []
    replaced = (_MODEL if options.model else frozenset[str]()) | (
        _ASKING if options.skip_permissions else frozenset[str]()
    )

    def change(words: Sequence[Word]) -> Sequence[Word]:
        kept = [arg for arg in _flags(words) if arg.flag not in replaced]
        no_daemon = [] if any(_is_no_daemon(arg) for arg in kept) else ["-c", _NO_DAEMON]
        kept_words = [word for arg in kept for word in arg.words]
        extra_words = [word for arg in extra for word in arg.words]
        return [*kept_words, *map(Word.of, [*no_daemon, *own_flags]), *extra_words]

    return argv.rebuilt(command, PROGRAM, change)


def session_in(command: Command) -> str | None:
    """Return the id of the thread that a command resumes, if it gives one."""
    args = list(GRAMMAR.arguments(argv.arguments_of(command, PROGRAM)))
    options = takewhile(lambda arg: arg.flag != "--", args)
    operands = [arg.value for arg in options if arg.flag is None]
    if operands[:1] != ["resume"] or any(arg.flag == "--last" for arg in args):
        return None
    return next((id_.lower() for id_ in operands[1:2] if is_uuid(id_)), None)


def begin(
    command: Command, roots: Sequence[Path], new: NewSession, prompt: str | None = None
) -> Launch:
    """Build the command for a new thread; Codex chooses its id."""

    def change(words: Sequence[Word]) -> Sequence[Word]:
        return argv.with_prompt(_flags(words), ["-C", str(new.cwd)], operand(prompt))

    return _launch(argv.rebuilt(command, PROGRAM, change), roots, new)


def one_turn(
    command: Command, roots: Sequence[Path], session: NewSession, *, resume: bool
) -> Launch:
    """Build the `codex exec` command for a turn: prompt on standard input, events as output."""
    if resume and session.id is None:
        raise UsageError("a turn of a thread needs the id of the thread")

    def change(words: Sequence[Word]) -> Sequence[Word]:
        flag_words = [word for arg in _flags(words) for word in _for_exec(arg)]
        own_words = ["--json", "--skip-git-repo-check", "-C", str(session.cwd)]
        own_words += ["resume", checked(session.id)] if resume and session.id else []
        return [Word.of("exec"), *flag_words, *map(Word.of, [*own_words, "-"])]

    return _launch(argv.rebuilt(command, PROGRAM, change), roots, session)


def _launch(words: Sequence[str], roots: Sequence[Path], new: NewSession) -> Launch:
    title = new.title or (f"{PROGRAM}:{new.id[:8]}" if new.id else PROGRAM)
    return argv.launch(words, new.cwd, environment(new.root or roots[0]), title)


def _flags(words: Sequence[Word]) -> list[Argument]:
    return [arg for arg in arguments(words) if arg.flag not in {None, "--", *SESSION_FLAGS}]


def _for_exec(one: Argument) -> Sequence[Word]:
    if one.flag in _HEADLESS_FLAGS:
        return one.words
    if one.flag in ("-a", "--ask-for-approval"):
        return [Word.of("-c"), Word.of(f"approval_policy={json.dumps(one.value)}")]
    return [Word.of(_SKIP)] if one.flag == "--yolo" else []


def _is_no_daemon(one: Argument) -> bool:
    return one.flag in ("-c", "--config") and one.value.replace(" ", "") == _NO_DAEMON


# -- output of a headless turn --------------------------------------------------------------------


def turn_output(output: Iterable[str]) -> TurnOutput:
    """Parse the last turn's result from the output of `codex exec --json`."""
    thread: str | None = None
    over = False
    reply = ""
    error: str | None = None
    for line in headless.lines_of(output):
        if not headless.is_event(line):
            error = headless.complaint(line) or error
            continue
        for event in events([line], ExecEvent):
            match event.type:
                case "thread.started":
                    thread = event.thread_id or thread
                    over, reply, error = False, "", None
                case "turn.started":
                    over, reply, error = False, "", None
                case "item.completed" if event.item and event.item.type == "agent_message":
                    reply = event.item.text
                case "turn.completed":
                    over, error = True, None
                case "turn.failed":
                    over, error = True, (event.error.message if event.error else "") or "it failed"
                case "error":
                    # Also printed before a retry, so the turn is not over.
                    error = event.message or error
                case _:
                    pass
    return TurnOutput(thread, over, reply, error)


# -- live processes -------------------------------------------------------------------------------


class _Held(Record, frozen=True):
    """A thread held open by a process."""

    thread: str
    holder: int
    since: float
    """Time of the lock."""


def open_sessions(roots: Sequence[Path], pids: Iterable[int]) -> Mapping[int, OpenSession]:
    workers = frozenset(pids)
    by_owner: dict[int, list[_Held]] = {}
    for lock in _held(roots) if workers else ():
        family = chain([lock.holder], process.ancestors(lock.holder))
        owner = next((pid for pid in family if pid in workers), None)
        if owner is not None:
            by_owner.setdefault(owner, []).append(lock)
    return {pid: _current(threads) for pid, threads in by_owner.items()}


def _held(roots: Sequence[Path]) -> Iterator[_Held]:
    """Yield all open threads: their files are locked, or open where locks are unknown."""
    files: dict[int, os.DirEntry[str]] = {}
    for root in roots:
        with suppress(OSError), os.scandir(root / "thread-writer-locks") as entries:
            files |= {entry.inode(): entry for entry in entries if not entry.name.startswith(".")}
    if not files:
        return
    active_locks = process.locks()
    for inode, holder in _opened() if active_locks is None else active_locks:
        entry = files.get(inode)
        if entry is not None and entry.name.endswith(".lock"):
            with suppress(OSError):
                name = entry.name.removesuffix(".lock")
                yield _Held(name, holder, entry.stat().st_mtime)


def _opened() -> Iterator[tuple[int, int]]:
    """Yield the inode of every open file and the process that has it open."""
    for pid, facts in process.running("open_files"):
        for file in facts["open_files"] or ():
            with suppress(OSError):
                yield Path(file.path).stat().st_ino, pid


def _current(threads: Sequence[_Held]) -> OpenSession:
    """Return the thread that a process shows: the one opened or written last."""
    rollouts = _rollouts({one.holder for one in threads})
    if len(threads) > 1:
        main_threads = [one for one in threads if not _is_subagent(rollouts.get(one.thread))]
        threads = main_threads or threads

    def age(one: _Held) -> tuple[float, str]:
        path = rollouts.get(one.thread)
        with suppress(OSError):
            return max(one.since, path.stat().st_mtime if path else 0), one.thread
        return one.since, one.thread

    current = max(threads, key=age)
    path = rollouts.get(current.thread)
    # Without a file, no prompt was sent since it was opened.
    activity, since = live.last_mark(path) if path else (Activity.IDLE, None)
    return OpenSession(current.thread, activity, since, source="lock")


def _rollouts(pids: Iterable[int]) -> dict[str, Path]:
    """Map threads to the files that processes write to; a rewind starts another file."""
    newest: dict[str, tuple[float, Path]] = {}
    opened = (process.facts(pid, "open_files").get("open_files") or () for pid in pids)
    for path in (Path(file.path) for files in opened for file in files):
        with suppress(OSError):
            name = RolloutName.parse(path.name) if path.name.startswith("rollout-") else None
            if name is not None:
                entry = (path.stat().st_mtime, path)
                newest[name.thread] = max(entry, newest.get(name.thread, entry))
    return {thread: path for thread, (_, path) in newest.items()}


class _Meta(msgspec.Struct):
    thread_source: str | None = None


class _First(msgspec.Struct):
    payload: _Meta = msgspec.field(default_factory=_Meta)


_first = msgspec.json.Decoder(_First).decode
_LONGEST = 1 << 20


def _is_subagent(path: Path | None) -> bool:
    if path is None:
        return False
    with suppress(OSError), open_regular(path) as file:
        header = jsonl.decoded(_first, file.readline(_LONGEST))
        return header is not None and header.payload.thread_source == "subagent"
    return False


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
    """Return the kind of dialog that Codex shows."""
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
