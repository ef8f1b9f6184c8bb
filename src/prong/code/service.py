"""`App.code`: the code of turns, as snapshots, diffs and worktrees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from prong.errors import ProngError
from prong.model.code import Snapshot, TurnKey
from prong.model.sessions import Conversation, Turn

if TYPE_CHECKING:
    from prong.app import App
    from prong.code import diff
    from prong.code.capture import Capture
    from prong.code.worktrees.status import PrunePlan, WorktreeStatus


class CodeService:
    def __init__(self, app: App) -> None:
        self._app = app

    @cached_property
    def capture(self) -> Capture:
        from prong.code import locate
        from prong.code.capture import Capture

        app = self._app

        def folders() -> Iterator[Path]:
            return locate.of_sessions(app.sessions.all(), app.forks.recorded())

        _, limit = app.database, app.settings.snapshots.limit
        agent_folders = partial(locate.of_agents, app.stores)
        return Capture(app.state_dir, app.forks.recorded, limit, folders, agent_folders)

    def capture_in_use(self) -> Capture | None:
        """Return the snapshot service, or None without loading it if no snapshot was ever taken."""
        is_used = self._app.remembers and (self._app.state_dir / "state.db").exists()
        return self.capture if is_used else None

    def kept_turns(self) -> set[str]:
        """Return the ids of all turns with a snapshot."""
        return capture.turn_ids() if (capture := self.capture_in_use()) else set()

    def snapshots(self, conversation: Conversation) -> dict[str, Snapshot]:
        """Return the snapshots of a conversation by turn id."""
        return self.capture.of(conversation) if self._app.remembers else {}

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
        if not self._app.remembers:
            return conversation
        return self.capture.with_code(conversation, lfs=lfs)

    def keep(self, conversation: Conversation, *, again: bool = False) -> Snapshot:
        """Take a snapshot of the current code for the session's last turn."""
        return self.capture.keep(conversation, again=again)

    def diff(
        self, first: str, second: str | None = None, paths: Sequence[str] = ()
    ) -> diff.CodeDiff:
        """Diff the code of `SESSION[@TURN]`, `SESSION@A..B`, or of two sessions.

        `paths` limits the diff to these files and folders.
        """
        from prong.code import diff

        return diff.diff(self._app, first, second, paths)

    def change_of(self, conversation: Conversation, turn: Turn) -> diff.CodeDiff:
        """Diff the code before and after a turn."""
        from prong.code import diff

        return diff.of_turn(self._app, conversation, turn)

    def worktrees(self) -> list[WorktreeStatus]:
        """List the worktrees that prong created, oldest first."""
        from prong.code.worktrees import status as worktrees

        return worktrees.listed(self._app)

    def plan_prune(self, names: Sequence[str] = (), *, force: bool = False) -> PrunePlan:
        """Plan which worktrees to remove: finished ones, or the named ones. Removes nothing."""
        from prong.code.worktrees import status as worktrees

        return worktrees.plan_prune(self._app, names, force=force)

    def prune(self, worktree: WorktreeStatus, *, force: bool = False) -> str | None:
        """Remove a worktree; return the name of its branch if that is kept."""
        from prong.code.worktrees import status as worktrees

        return worktrees.prune(self._app, worktree, force=force)
