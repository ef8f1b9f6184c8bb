"""Codex as a worker: its options, a new thread, turns without a terminal, what it does now.

Measured: the process of the terminal UI holds the lock of its thread as soon as
it takes input, and keeps the locks of all threads that it had open before (`/new`). Nothing in its
files tells that it asks a person for leave; its hook `PermissionRequest` does, at once.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

import msgspec

from prong.agents import argv, headless, jsonl
from prong.agents.argv import Argument, Command, flags
from prong.agents.codex import activity as live
from prong.agents.codex.last_words import last_words as last_words  # noqa: PLC0414 -- a part of this module
from prong.agents.codex.launch import (
    GRAMMAR,
    PROGRAM,
    SESSION_FLAGS,
    arguments,
    checked,
    environment,
    operand,
    profile_of,
    without_session,
)
from prong.agents.codex.launch import as_prompt as as_prompt  # noqa: PLC0414 -- likewise
from prong.agents.codex.library import RolloutName
from prong.agents.codex.printed import CodexEvent
from prong.agents.common import foot, is_uuid
from prong.agents.headless import TurnOutput, events
from prong.agents.shell import Word
from prong.agents.worker_base import NewSession, OpenSession
from prong.errors import Unsupported, UsageError
from prong.files.regular import open_regular
from prong.model.forks import Launch
from prong.model.record import Record
from prong.model.sessions import Activity
from prong.model.workers import RunOptions
from prong.processes import process

_SKIP = "--dangerously-bypass-approvals-and-sandbox"
_ASKING = flags("-a --ask-for-approval --approve-for-me --full-auto -s --sandbox --yolo") | {_SKIP}
_MODEL = flags("-m --model")
_NO_DAEMON = "features.daemon_auto_start=false"
"""Else a process that is not the worker's would have the thread open, and outlive the worker."""
_HEADLESS_FLAGS = flags(
    """
    --add-dir --approve-for-me -c --config --dangerously-bypass-hook-trust --disable --enable -i
    --image --local-provider -m --model --oss -p --profile -s --sandbox --strict-config
    """
) | {_SKIP}
"""What `codex exec` takes of the flags of the terminal UI."""
_SYSTEM = Path("/etc/codex/config.toml")


# -- the command ----------------------------------------------------------------------------------


def command_with(command: Command, options: RunOptions) -> tuple[str, ...]:
    """The base command with the options; what names a thread and the prompt are taken out.

    It also tells Codex for this run to start no daemon.
    """
    if options.settings:
        raise Unsupported(
            "Codex takes no settings file for one run",
            hint="prong run ... -- --profile NAME, or -- -c KEY=VALUE",
        )
    if options.plugin_dirs:
        raise Unsupported("Codex takes no plug-in folder for one run", hint="codex plugin add")
    extra = argv.extra_flags(options.extra, GRAMMAR, PROGRAM, SESSION_FLAGS)
    own = ["--model", options.model] if options.model else []
    own += [_SKIP] if options.skip_permissions else []
    replaced = (_MODEL if options.model else frozenset[str]()) | (
        _ASKING if options.skip_permissions else frozenset[str]()
    )

    def change(words: Sequence[Word]) -> Sequence[Word]:
        kept = [one for one in _flags(words) if one.flag not in replaced]
        quiet = [] if any(_is_no_daemon(one) for one in kept) else ["-c", _NO_DAEMON]
        mine = [word for one in kept for word in one.words]
        added = [word for one in extra for word in one.words]
        return [*mine, *map(Word.of, [*quiet, *own]), *added]

    return argv.rebuilt(command, PROGRAM, change)


def session_in(command: Command) -> str | None:
    """The thread that a command resumes, where it says its id."""
    found: list[str] = []

    def look(words: Sequence[Word]) -> Sequence[Word]:
        every = list(GRAMMAR.arguments(words))
        ends = [at for at, one in enumerate(every) if one.flag == "--"]
        before = every[: ends[0] if ends else None]
        operands = [one.value for one in before if one.flag is None]
        if operands[:1] == ["resume"] and not any(one.flag == "--last" for one in every):
            found.extend(operands[1:2])
        return words

    argv.rebuilt(command, PROGRAM, look)
    return found[0].lower() if found and is_uuid(found[0]) else None


def begin(
    command: Command, roots: Sequence[Path], new: NewSession, prompt: str | None = None
) -> Launch:
    """A new thread; Codex chooses its id."""

    def change(words: Sequence[Word]) -> Sequence[Word]:
        return argv.with_prompt(_flags(words), ["-C", str(new.cwd)], operand(prompt))

    return _launch(argv.rebuilt(command, PROGRAM, change), roots, new)


def one_turn(
    command: Command, roots: Sequence[Path], session: NewSession, *, resume: bool
) -> Launch:
    """`codex exec`: the prompt comes on standard input, a line for each event goes to output."""
    if resume and session.id is None:
        raise UsageError("a turn of a thread needs the id of the thread")

    def change(words: Sequence[Word]) -> Sequence[Word]:
        given = [word for one in _flags(words) for word in _for_exec(one)]
        own = ["--json", "--skip-git-repo-check", "-C", str(session.cwd)]
        own += ["resume", checked(session.id)] if resume and session.id else []
        return [Word.of("exec"), *given, *map(Word.of, [*own, "-"])]

    return _launch(argv.rebuilt(command, PROGRAM, change), roots, session)


def _launch(words: Sequence[str], roots: Sequence[Path], new: NewSession) -> Launch:
    title = new.title or (f"{PROGRAM}:{new.id[:8]}" if new.id else PROGRAM)
    return argv.launch(words, new.cwd, environment(new.root or roots[0]), title)


def _flags(words: Iterable[Word]) -> list[Argument]:
    found = without_session(arguments(list(words)))
    return [one for one in found if one.flag not in (None, "--")]


def _for_exec(one: Argument) -> Sequence[Word]:
    if one.flag in _HEADLESS_FLAGS:
        return one.words
    if one.flag in ("-a", "--ask-for-approval"):
        return [Word.of("-c"), Word.of(f"approval_policy={json.dumps(one.value)}")]
    return [Word.of(_SKIP)] if one.flag == "--yolo" else []


def _is_no_daemon(one: Argument) -> bool:
    return one.flag in ("-c", "--config") and one.value.replace(" ", "") == _NO_DAEMON


# -- what a turn without a terminal printed -------------------------------------------------------


def turn_output(output: Iterable[str]) -> TurnOutput:
    """What the events of `codex exec --json` say of the last turn."""
    thread: str | None = None
    over = False
    reply = ""
    error: str | None = None
    for line in headless.lines_of(output):
        if not headless.is_event(line):
            error = headless.complaint(line) or error
            continue
        for event in events([line], CodexEvent):
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
                    # Also said while it tries again: the turn is not over by that.
                    error = event.message or error
                case _:
                    pass
    return TurnOutput(thread, over, reply, error)


# -- what living processes do ---------------------------------------------------------------------


class _Held(Record, frozen=True):
    """A thread that a process has open."""

    thread: str
    holder: int
    since: float
    """When the lock was made."""


def open_sessions(roots: Sequence[Path], pids: Iterable[int]) -> Mapping[int, OpenSession]:
    wanted = frozenset(pids)
    held: dict[int, list[_Held]] = {}
    for one in _held(roots) if wanted else ():
        family = chain([one.holder], process.ancestors(one.holder))
        owner = next((pid for pid in family if pid in wanted), None)
        if owner is not None:
            held.setdefault(owner, []).append(one)
    return {pid: _current(threads) for pid, threads in held.items()}


def _held(roots: Sequence[Path]) -> Iterator[_Held]:
    """All threads that are open: their files are locked, or open where no locks are known."""
    files: dict[int, os.DirEntry[str]] = {}
    for root in roots:
        with suppress(OSError), os.scandir(root / "thread-writer-locks") as entries:
            files |= {entry.inode(): entry for entry in entries if not entry.name.startswith(".")}
    if not files:
        return
    held = process.locks()
    for inode, holder in _opened() if held is None else held:
        entry = files.get(inode)
        if entry is not None and entry.name.endswith(".lock"):
            with suppress(OSError):
                name = entry.name.removesuffix(".lock")
                yield _Held(name, holder, entry.stat().st_mtime)


def _opened() -> Iterator[tuple[int, int]]:
    """All files that are open, by inode, and who has each open."""
    for pid, facts in process.running("open_files"):
        for file in facts["open_files"] or ():
            with suppress(OSError):
                yield Path(file.path).stat().st_ino, pid


def _current(threads: Sequence[_Held]) -> OpenSession:
    """The thread that a process shows: of several, the one that was opened or written last."""
    rollouts = _rollouts({one.holder for one in threads})
    if len(threads) > 1:
        mains = [one for one in threads if not _is_subagent(rollouts.get(one.thread))]
        threads = mains or threads

    def age(one: _Held) -> tuple[float, str]:
        path = rollouts.get(one.thread)
        with suppress(OSError):
            return max(one.since, path.stat().st_mtime if path else 0), one.thread
        return one.since, one.thread

    current = max(threads, key=age)
    path = rollouts.get(current.thread)
    # Without a file nothing was asked since it was opened.
    activity, since = live.last_mark(path) if path else (Activity.IDLE, None)
    return OpenSession(current.thread, activity, since, source="lock")


def _rollouts(pids: Iterable[int]) -> dict[str, Path]:
    """The files that processes write to, by thread. After a rewind it is another one."""
    found: dict[str, tuple[float, Path]] = {}
    opened = (process.facts(pid, "open_files").get("open_files") or () for pid in pids)
    for path in (Path(file.path) for files in opened for file in files):
        with suppress(OSError):
            name = RolloutName.parse(path.name) if path.name.startswith("rollout-") else None
            if name is not None:
                entry = (path.stat().st_mtime, path)
                found[name.thread] = max(entry, found.get(name.thread, entry))
    return {thread: path for thread, (_, path) in found.items()}


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
        first = jsonl.decoded(_first, file.readline(_LONGEST))
        return first is not None and first.payload.thread_source == "subagent"
    return False


def settings_files(command: Command, folder: Path, root: Path) -> list[Path]:
    """Those of the machine, of the person with the profile that the command names, of the project.

    Codex reads those of a project in all folders from the repository's top down.
    """
    profile: list[str] = []

    def look(words: Sequence[Word]) -> Sequence[Word]:
        profile[:] = [name] if (name := profile_of(_flags(words))) else []
        return words

    argv.rebuilt(command, PROGRAM, look)
    real = Path(os.path.realpath(folder))
    inside = [real]
    for parent in real.parents:
        if (inside[-1] / ".git").exists():
            break
        inside.append(parent)
    else:
        inside = [real]
    projects = [one / ".codex" / "config.toml" for one in reversed(inside)]
    named = [root / f"{name}.config.toml" for name in profile]
    return [_SYSTEM, root / "config.toml", *named, *projects]


_DIALOGS = {
    "Press enter to confirm or esc to cancel": "permission",
    "enter continue \u00b7 esc quit": "trust",
    "enter continue \u00b7 esc back": "trust",  # the newer wording
}
"""How a dialog says that it can be left."""


def dialog_on(screen: str) -> str | None:
    """What Codex asks."""
    rows = foot(screen)
    return next((kind for words, kind in _DIALOGS.items() if words in rows), None)


_INPUT_SIGNS = {"\u203a": "", "!": "!"}
"""What the line for input begins with, and the mode that it tells of."""


def input_on(screen: str) -> str | None:
    """What stands in Codex's line for input. An empty row and one or two for hints are below it."""
    rows = screen.splitlines()
    signs = [at for at, row in enumerate(rows) if row[:1] in _INPUT_SIGNS]
    empty = [at for at, row in enumerate(rows) if not row.strip() and any(rows[at + 1 :])]
    if not signs or not empty or empty[-1] < signs[-1]:
        return None
    first = rows[signs[-1]]
    return _INPUT_SIGNS[first[0]] + "\n".join([first[1:], *rows[signs[-1] + 1 : empty[-1]]]).strip()
