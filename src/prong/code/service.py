"""`App.code`: the code of turns, as snapshots, diffs and worktrees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from prong import paths
from prong.agents.base import AgentStore
from prong.config import Config
from prong.errors import ProngError
from prong.model.code import Snapshot, TurnKey
from prong.model.forks import Fork
from prong.model.record import Record
from prong.model.sessions import CodeGap, Conversation, Turn
from prong.model.workers import WorkerInfo

if TYPE_CHECKING:
    from prong.code.capture import Capture
    from prong.code.diff import CodeDiff, CodePoint
    from prong.code.recorded import RecordedCode
    from prong.code.turn_code import CapturedCode
    from prong.code.worktrees.status import ManagedWorktrees
    from prong.session.service import SessionService


class CodeService(Record, frozen=True, dict=True):
    """Captures, compares and restores the code of turns."""

    sessions: SessionService
    stores: Mapping[str, AgentStore]
    settings: Config
    database: Callable[[], Path] | None
    """Returns the path of a sound state.db; None if nothing is remembered."""
    forks: Callable[[], list[Fork]]
    workers: Callable[[], Iterable[WorkerInfo]]
    state: Path

    @cached_property
    def capture(self) -> Capture:
        from prong.code import locate
        from prong.code.capture import Capture

        def folders() -> Iterator[Path]:
            return locate.of_sessions(self.sessions.all(), self.forks())

        if self.database is not None:
            self.database()
        limit = self.settings.snapshots.limit
        agent_folders = partial(locate.of_agents, self.stores)
        return Capture(self.state, self.forks, limit, folders, agent_folders)

    @cached_property
    def worktrees(self) -> ManagedWorktrees:
        from prong.code.worktrees.status import ManagedWorktrees

        root = self.settings.workspace.root or paths.worktrees_dir()
        return ManagedWorktrees(
            root, self.sessions.all, self.forks, self.workers, self.stores, self.capture.take_in
        )

    def capture_in_use(self) -> Capture | None:
        """Return the snapshot service, or None without loading it if no snapshot was ever taken."""
        is_used = self.database is not None and (self.state / "state.db").exists()
        return self.capture if is_used else None

    def take_in(self) -> None:
        if capture := self.capture_in_use():
            capture.take_in()

    def recorded(self) -> RecordedCode | None:
        """Return what is recorded of snapshots now; None if no snapshot was ever taken."""
        has_database = (self.state / "state.db").exists()
        if self.database is None or not (has_database or (self.state / "spool").exists()):
            return None
        from prong.code.recorded import RecordedCode

        if has_database:
            self.database()
        return RecordedCode(self.state)

    def snapshots(self, conversation: Conversation) -> dict[str, Snapshot]:
        """Return the snapshots of a conversation by turn id."""
        return self.capture.of(conversation) if self.database else {}

    def captured(self, conversation: Conversation) -> CapturedCode:
        from prong.code.turn_code import CapturedCode

        return CapturedCode(conversation, self.snapshots(conversation))

    def has_last_turn(self, conversation: Conversation) -> bool:
        """Return whether the code of the last turn was captured and can be restored."""
        last = conversation.turns[-1].id if conversation.turns else TurnKey.BASELINE
        try:
            snapshot = self.snapshots(conversation).get(last)
        except ProngError:
            return False
        return snapshot is not None and snapshot.repo.is_dir()

    def with_code(self, conversation: Conversation, *, lfs: bool = True) -> Conversation:
        """Add snapshots to the turns of a conversation; with `lfs`, also list missing LFS files."""
        return self.capture.with_code(conversation, lfs=lfs) if self.database else conversation

    def gaps(self, conversation: Conversation, turn: Turn | None) -> tuple[CodeGap, ...]:
        """Return what the captured code of a turn lacks; for None, of the start of the session."""
        return self.capture.gaps(conversation, turn) if self.database else ()

    def keep(self, conversation: Conversation, *, again: bool = False) -> Snapshot:
        """Take a snapshot of the current code for the session's last turn."""
        return self.capture.keep(conversation, again=again)

    def diff(self, first: str, second: str | None = None, paths: Sequence[str] = ()) -> CodeDiff:
        """Diff `SESSION[@TURN]`, `SESSION@A..B`, or two sessions, limited to these paths."""
        from prong.code import diff

        if second is None:
            first, second = diff.ends(first)

        def resolved(text: str) -> tuple[CapturedCode, str | None]:
            target = self.sessions.resolve(text)
            return self.captured(self.sessions.conversation(target.session)), target.turn

        def point(text: str) -> CodePoint:
            code, turn = resolved(text)
            if turn is None:
                return diff.latest(code)
            return diff.point(code, self.sessions.turn(code.conversation, turn))

        if second is not None:
            return diff.compared(point(first), point(second), paths)
        code, turn = resolved(first)
        if turn is None:
            return diff.whole(code, paths)
        return diff.of_turn(code, self.sessions.turn(code.conversation, turn), paths)

    def change_of(self, conversation: Conversation, turn: Turn) -> CodeDiff:
        """Diff the code before and after a turn."""
        from prong.code import diff

        return diff.of_turn(self.captured(conversation), turn)
