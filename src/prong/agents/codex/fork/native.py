"""Fork with Codex itself: `thread/fork` of its app-server, at the end of a task.

The fork's file only refers to a position in the source's file. So Codex can fork only what it can
find there: a finished task of the active conversation.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from prong.agents.codex import history, turns
from prong.agents.codex.app_server import AppServer, Refused
from prong.agents.codex.fork.source import Branch, CodexSource
from prong.agents.codex.library import RolloutName
from prong.agents.codex.rollout import EntryKind
from prong.errors import Busy, Corrupt, External
from prong.model.forks import Child, Cut
from prong.model.sessions import Session, Skipped

_OTHER_WAY = "with --id UUID prong writes the fork itself"
_CONTENT = frozenset({EntryKind.ITEM, EntryKind.COMPACTED, EntryKind.ROLLBACK, EntryKind.USER_TEXT})


def can_fork(source: CodexSource, cut: Cut) -> bool:
    branch = source.branch(cut)
    last_header = branch.chain[-1].rollout.header
    first_header = branch.chain[0].rollout.header
    name = RolloutName.parse(source.session.path.name)
    return (
        branch.active
        and last_task(branch) is not None
        and not (cut.full and branch.compacted)
        # Codex would move it out of the archive, or unpack it.
        and not source.session.archived
        and not any(segment.path.suffix == ".zst" for segment in branch.chain)
        and name is not None
        and last_header is not None
        # All files that it continues exist.
        and first_header is not None
        and first_header.base is None
        and last_header.id == name.thread == source.session.id
        and not last_header.subagent
    )


def last_task(branch: Branch) -> str | None:
    """Return the task that ends the turn, perhaps a compaction; None if it has no end."""
    for _, entry in reversed(branch.spans[-1].pieces) if branch.spans else ():
        if entry.kind in (EntryKind.END, EntryKind.ABORT):
            return entry.turn
        if entry.kind in _CONTENT or entry.kind is EntryKind.START:
            return None
    return None


class _Thread(Struct):
    id: str
    path: str


class _Forked(Struct):
    thread: _Thread


def fork(
    source: CodexSource,
    cut: Cut,
    child: Child,
    root: Path,
    argv: Sequence[str],
    check: Callable[[], None],
) -> Path | None:
    """Let Codex fork, check the result, and return the path of the new rollout.

    Returns None if Codex does not run or cannot read the thread. `check` is called once the fork
    exists and may reject it by raising.
    """
    branch = source.branch(cut)
    has_started = False
    try:
        with AppServer(argv, root) as server:
            has_started = True
            thread = _fork(server, source, last_task(branch), child)
            try:
                _read_back(source, branch, Path(thread.path))
                check()
            except BaseException:
                with suppress(External):  # the first error is the one to report
                    server.call("thread/delete", threadId=thread.id)
                raise
            if child.title:
                with suppress(External):  # the title is optional
                    server.call("thread/name/set", threadId=thread.id, name=child.title)
    except Refused:
        return None
    except External:
        if has_started:
            raise
        return None
    return Path(thread.path)


def _fork(server: AppServer, source: CodexSource, last: str | None, child: Child) -> _Thread:
    session = source.session
    try:
        result = server.call(
            "thread/fork",
            threadId=session.id,
            lastTurnId=last,
            cwd=str(child.cwd),
            excludeTurns=True,
        )
        thread = msgspec.convert(result, _Forked).thread
    except Refused as refused:
        if "in-progress" in refused.message:
            raise busy(session) from refused
        raise
    except msgspec.ValidationError as error:
        message = f"{' '.join(server.argv)} made a fork and did not tell which: {error}"
        raise External(message, hint=_OTHER_WAY, argv=server.argv) from error
    source_paths = {os.path.realpath(segment.path) for segment in source.chain}
    if thread.id == session.id or os.path.realpath(thread.path) in source_paths:
        # Raise here: the caller would delete this thread if its check failed.
        message = f"{' '.join(server.argv)} named {session.ref} itself as its fork"
        raise External(message, hint=_OTHER_WAY, argv=server.argv)
    return thread


def _read_back(source: CodexSource, branch: Branch, made: Path) -> None:
    """Check that Codex's fork has the turns of the source; if not, the caller deletes it."""
    skipped: list[Skipped] = []
    with closing(source.files.again()) as files:
        chain = history.segments(made, files, source.library, skipped)
    turn_ids = [span.id for span in turns.cut(chain).active if span.prompt is not None]
    if turn_ids != branch.turn_ids:
        raise Corrupt(
            "the fork that Codex made does not read back as its source; it was deleted again",
            hint=_OTHER_WAY,
            expected=len(branch.turn_ids),
            found=len(turn_ids),
        )


def give_name(thread_id: str, name: str, root: Path, argv: Sequence[str]) -> None:
    """Name a thread. Codex does not show a name that is only in a file that prong wrote."""
    # The name is optional.
    with suppress(External), AppServer(argv, root) as server:
        server.call("thread/name/set", threadId=thread_id, name=name)


def busy(session: Session) -> Busy:
    message = f"Codex is still working on this turn of {session.ref}"
    return Busy(message, hint="--wait, or fork an earlier turn")
