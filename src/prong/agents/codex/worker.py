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

from prong.agents import argv, jsonl
from prong.agents.argv import Argument, Command, flags
from prong.agents.codex import activity as live
from prong.agents.codex.activity import last_words as last_words  # noqa: PLC0414 -- a part of this module
from prong.agents.codex.launch import (
    GRAMMAR,
    PROGRAM,
    SESSION_FLAGS,
    arguments,
    checked,
    environment,
    operand,
    profile_of,
)
from prong.agents.codex.launch import as_prompt as as_prompt  # noqa: PLC0414 -- likewise
from prong.agents.codex.library import RolloutName
from prong.agents.codex.output import turn_output as turn_output  # noqa: PLC0414 -- likewise
from prong.agents.common import foot, is_uuid
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
_LONGEST = 1 << 20
"""Bytes read of a first line."""


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


def _for_exec(arg: Argument) -> Sequence[Word]:
    if arg.flag in _HEADLESS_FLAGS:
        return arg.words
    if arg.flag in ("-a", "--ask-for-approval"):
        return [Word.of("-c"), Word.of(f"approval_policy={json.dumps(arg.value)}")]
    return [Word.of(_SKIP)] if arg.flag == "--yolo" else []


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
                yield _Held(entry.name.removesuffix(".lock"), holder, entry.stat().st_mtime)


def _opened() -> Iterator[tuple[int, int]]:
    """Yield the inode of every open file and the process that has it open."""
    for pid, facts in process.running("open_files"):
        for file in facts["open_files"] or ():
            with suppress(OSError):
                yield Path(file.path).stat().st_ino, pid


def _current(threads: Sequence[_Held]) -> OpenSession:
    """Return the thread that a process shows: the one opened or written last."""
    rollouts = _rollouts({held.holder for held in threads})
    if len(threads) > 1:
        main = [held for held in threads if not _is_subagent(rollouts.get(held.thread))]
        threads = main or threads

    def last_used(held: _Held) -> tuple[float, str]:
        path = rollouts.get(held.thread)
        with suppress(OSError):
            return max(held.since, path.stat().st_mtime if path else 0), held.thread
        return held.since, held.thread

    current = max(threads, key=last_used)
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


def _is_subagent(path: Path | None) -> bool:
    if path is None:
        return False
    with suppress(OSError), open_regular(path) as file:
        header = jsonl.decoded(live.decode_line, file.readline(_LONGEST))
        payload = header.payload if header else None
        return payload is not None and payload.thread_source == "subagent"
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
