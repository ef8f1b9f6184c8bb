"""A fork made by Codex itself: `thread/fork` of its app-server, at the end of a task.

It writes a stub that names the place in the source's file. So it can fork only what it can find
again: a finished task of the active conversation.
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
    """True when Codex itself can make this fork."""
    branch = source.branch(cut)
    own = branch.chain[-1].rollout.header
    first = branch.chain[0].rollout.header
    name = RolloutName.parse(source.session.path.name)
    return (
        branch.active
        and last_task(branch) is not None
        and not (cut.full and branch.compacted)
        # It would have to be taken out of the archive, or unpacked, for that.
        and not source.session.archived
        and not any(segment.path.suffix == ".zst" for segment in branch.chain)
        and name is not None
        and own is not None
        # All that it continues is there.
        and first is not None
        and first.base is None
        and own.id == name.thread == source.session.id
        and not own.subagent
    )


def last_task(branch: Branch) -> str | None:
    """The task that the turn ends with, a compaction perhaps; None when it has no end."""
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
    """The answer to `thread/fork`."""

    thread: _Thread


def fork(
    source: CodexSource,
    cut: Cut,
    child: Child,
    root: Path,
    argv: Sequence[str],
    check: Callable[[], None],
) -> Path | None:
    """Let Codex make the fork, and read it back; the path of the new rollout.

    None when Codex does not make it: it does not run, or it cannot read the thread. `check` is
    called when the fork is there, and has the last word.
    """
    branch = source.branch(cut)
    asked = False
    try:
        with AppServer(argv, root) as server:
            asked = True
            made = _fork(server, source, last_task(branch), child)
            try:
                _read_back(source, branch, Path(made.path))
                check()
            except BaseException:
                with suppress(External):  # what went wrong before is what counts
                    server.call("thread/delete", threadId=made.id)
                raise
            if child.title:
                with suppress(External):  # without it the fork is none the worse
                    server.call("thread/name/set", threadId=made.id, name=child.title)
    except Refused:
        return None
    except External:
        if asked:
            raise
        return None
    return Path(made.path)


def _fork(server: AppServer, source: CodexSource, last: str | None, child: Child) -> _Thread:
    session = source.session
    try:
        answer = server.call(
            "thread/fork",
            threadId=session.id,
            lastTurnId=last,
            cwd=str(child.cwd),
            excludeTurns=True,
        )
        made = msgspec.convert(answer, _Forked).thread
    except Refused as refused:
        if "in-progress" in refused.message:
            raise busy(session) from refused
        raise
    except msgspec.ValidationError as error:
        message = f"{' '.join(server.argv)} made a fork and did not tell which: {error}"
        raise External(message, hint=_OTHER_WAY, argv=server.argv) from error
    known = {os.path.realpath(segment.path) for segment in source.chain}
    if made.id == session.id or os.path.realpath(made.path) in known:
        # Never to be deleted.
        message = f"{' '.join(server.argv)} named {session.ref} itself as its fork"
        raise External(message, hint=_OTHER_WAY, argv=server.argv)
    return made


def _read_back(source: CodexSource, branch: Branch, made: Path) -> None:
    """What Codex made must be what was meant. It deletes it again if not."""
    skipped: list[Skipped] = []
    with closing(source.files.again()) as files:
        chain = history.segments(made, files, source.library, skipped)
    found = [span.id for span in turns.cut(chain).active if span.prompt is not None]
    if found != branch.turn_ids:
        raise Corrupt(
            "the fork that Codex made does not read back as its source; it was deleted again",
            hint=_OTHER_WAY,
            expected=len(branch.turn_ids),
            found=len(found),
        )


def give_name(thread_id: str, name: str, root: Path, argv: Sequence[str]) -> None:
    """Name a thread. Codex does not show the name that stands in a file that prong wrote."""
    # Without it the fork is none the worse.
    with suppress(External), AppServer(argv, root) as server:
        server.call("thread/name/set", threadId=thread_id, name=name)


def busy(session: Session) -> Busy:
    message = f"Codex is still working on this turn of {session.ref}"
    return Busy(message, hint="--wait, or fork an earlier turn")
