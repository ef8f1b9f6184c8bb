"""Turns screen: the turns of a session, with a preview."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from prong.model.amounts import counted
from prong.model.sessions import Session
from prong.tui.content.preview import Preview, SessionReader
from prong.tui.content.turn_entries import MARKS, SessionTurns, TurnEntry
from prong.tui.lanes import Lanes
from prong.tui.screens.view import ListScreen, SelectedSession
from prong.tui.widgets.lines import Line
from prong.tui.widgets.rows import Rows
from prong.views.text import age, clean, short_path


class TurnsScreen(ListScreen[TurnEntry]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "back", "Back"),
        Binding("A", "abandoned", "Rewound", show=False),
        Binding("ctrl+r", "refresh", "Refresh", show=False),
    ]

    def __init__(
        self,
        lanes: Lanes,
        session: Session,
        turn_id: str | None = None,
        *,
        without_answer: bool = False,
    ) -> None:
        """`turn_id` is selected first, by default the last turn.

        `without_answer` hides the agent's answer to a seed.
        """
        super().__init__(lanes, Rows(1, id="turns"), "reading the session ...")
        self._session = session
        self._turn_id = turn_id
        self._without_answer = without_answer
        self._turns: SessionTurns | None = None
        self._abandoned = False

    def above(self) -> ComposeResult:
        facts = [
            clean(self._session.title) or "(no prompt)",
            f"{self._session.agent}:{self._session.id[:8]}",
            age(self._session.updated),
            short_path(self._session.cwd),
        ]
        yield Static(clean("  ".join(filter(None, facts))), id="title", markup=False)

    def on_mount(self) -> None:
        self.rows.focus()
        self.action_refresh()

    @property
    def selection(self) -> SelectedSession:
        chosen = super().selection
        return chosen._replace(point=chosen.point or str(self._session.ref), session=self._session)

    def action_refresh(self) -> None:
        self.run_worker(self._refresh, group="read", exclusive=True, exit_on_error=False)

    async def _refresh(self) -> None:
        session = self._session
        read = await self.told(
            self.lanes.reading.do(
                lambda app: SessionTurns.of(
                    app.code.with_code(app.sessions.conversation(session)),
                    app.sessions.tree(session),
                )
            )
        )
        if read is not None:
            self._turns = read
            # If the requested turn is abandoned, show abandoned turns.
            abandoned = {turn.id for turn in read.conversation.abandoned}
            self._abandoned = self._abandoned or self._turn_id in abandoned
            self._show(read)

    def _show(self, read: SessionTurns) -> None:
        conversation = read.conversation
        entries = read.everything if self._abandoned else read.active
        self.rows.fill(entries)
        if self._turn_id is not None:
            self.rows.move_to(self._turn_id)
        elif conversation.turns:
            self.rows.move_to(conversation.turns[-1].id)
        self._turn_id = self.entry.turn.id if self.entry else None
        self.look()  # the same turn may have grown
        if not entries:
            self.page.fill([Line("No prompts in this session yet.", "title")])
        parts = [counted(len(conversation.turns), "turn")]
        if conversation.abandoned:
            state = "shown" if self._abandoned else "A shows them"
            parts.append(f"{len(conversation.abandoned)} abandoned by rewinds ({state})")
        if conversation.skipped:
            parts.append(f"{counted(len(conversation.skipped), 'line')} could not be read")
        parts += [f"{sign} {meaning}" for sign, meaning in MARKS]
        self.status.update(" · ".join(parts))

    def reader(self, entry: TurnEntry) -> Callable[[SessionReader], Preview]:
        assert self._turns is not None
        self._turn_id = entry.turn.id
        return partial(
            SessionReader.of_turn,
            conversation=self._turns.conversation,
            turn=entry.turn,
            without_answer=self._without_answer and entry.turn.index == 1,
        )

    @on(Rows.Chosen)
    def _fork(self) -> None:
        self.wish("fork")

    def action_abandoned(self) -> None:
        if self._turns is not None and self._turns.conversation.abandoned:
            self._abandoned = not self._abandoned
            self._show(self._turns)
