"""Turns screen: the turns of a session, with a preview."""

from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Footer, Static

from prong.app import App
from prong.model.amounts import counted
from prong.model.record import Record
from prong.model.sessions import Conversation, Session
from prong.tui.content import preview, turn_entries
from prong.tui.content.turn_entries import TurnEntry
from prong.tui.lanes import Lanes
from prong.tui.looking import Looking
from prong.tui.screens.view import MainScreen
from prong.tui.widgets.page import Page
from prong.tui.widgets.rows import Rows
from prong.views.text import age, clean, short_path


class _Known(Record, frozen=True):
    """The turns read from a session."""

    conversation: Conversation
    active: list[TurnEntry]
    all: list[TurnEntry]
    """Including abandoned turns."""


class TurnsScreen(MainScreen):
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
        super().__init__()
        self._lanes = lanes
        self._session = session
        self._turn_id = turn_id
        self._without_answer = without_answer
        self._looking = Looking(lanes.reading, lambda: self._entry)
        self._known: _Known | None = None
        self._abandoned = False

    def compose(self) -> ComposeResult:
        yield Static(_title(self._session), id="title", markup=False)
        with Container(id="body"):
            yield Rows(1, id="turns")
            yield Page(id="preview")
        yield Static("reading the session ...", id="status", markup=False)
        yield Footer(compact=True)

    def on_mount(self) -> None:
        self.query_one("#turns", Rows).focus()
        self.action_refresh()

    @property
    def point(self) -> str | None:
        return self._entry.point if self._entry else str(self._session.ref)

    @property
    def session(self) -> Session | None:
        return self._session

    @property
    def turn_number(self) -> int | None:
        return self._entry.turn.index if self._entry else None

    @property
    def _entry(self) -> TurnEntry | None:
        chosen = self.query_one("#turns", Rows).chosen
        return chosen if isinstance(chosen, TurnEntry) else None

    # -- reading -------------------------------------------------------------------------------

    def action_refresh(self) -> None:
        self.run_worker(self._read, group="read", exclusive=True, exit_on_error=False)

    async def _read(self) -> None:
        loaded = await self.told(self._lanes.reading.do(partial(_known, session=self._session)))
        if loaded is not None:
            # If the requested turn is abandoned, show abandoned turns.
            abandoned_ids = {turn.id for turn in loaded.conversation.abandoned}
            self._abandoned = self._abandoned or self._turn_id in abandoned_ids
            self._known = loaded
            self._show()

    def _show(self) -> None:
        loaded = self._known
        if loaded is None:
            return
        conversation = loaded.conversation
        entries = loaded.all if self._abandoned else loaded.active
        rows = self.query_one("#turns", Rows)
        rows.fill(entries)
        if self._turn_id is not None:
            rows.move_to(self._turn_id)
        elif conversation.turns:
            rows.move_to(conversation.turns[-1].id)
        self._turn_id = self._entry.turn.id if self._entry else None
        self._look()  # the same turn may have grown
        if not entries:
            page = self.query_one("#preview", Page)
            page.fill(preview.nothing("No prompts in this session yet."))
        self._say(conversation)

    def _say(self, conversation: Conversation) -> None:
        parts = [counted(len(conversation.turns), "turn")]
        if conversation.abandoned:
            state = "shown" if self._abandoned else "A shows them"
            parts.append(f"{len(conversation.abandoned)} abandoned by rewinds ({state})")
        if conversation.skipped:
            parts.append(f"{counted(len(conversation.skipped), 'line')} could not be read")
        parts += [f"{sign} {meaning}" for sign, meaning in turn_entries.MARKS]
        self.query_one("#status", Static).update(" · ".join(parts))

    @on(Rows.Moved, "#turns")
    def _look(self) -> None:
        self.run_worker(self._preview, group="preview", exclusive=True, exit_on_error=False)

    async def _preview(self) -> None:
        entry, loaded = self._entry, self._known
        if entry is None or loaded is None:
            return
        self._turn_id = entry.turn.id
        content = await self._looking.at(
            partial(
                preview.of_turn,
                conversation=loaded.conversation,
                turn=entry.turn,
                without_answer=self._without_answer and entry.turn.index == 1,
            )
        )
        if content is not None:
            self.query_one("#preview", Page).fill(content.lines)

    # -- keys ----------------------------------------------------------------------------------

    @on(Rows.Chosen, "#turns")
    def _chosen(self) -> None:
        self.wish("fork")

    def action_back(self) -> None:
        self.wish("back")

    def action_abandoned(self) -> None:
        if self._known is not None and self._known.conversation.abandoned:
            self._abandoned = not self._abandoned
            self._show()


def _known(app: App, session: Session) -> _Known:
    conversation = app.code.with_code(app.sessions.conversation(session))
    forest = app.sessions.tree(session)
    active, everything = (
        turn_entries.of_conversation(conversation, forest, abandoned=abandoned)
        for abandoned in (False, True)
    )
    return _Known(conversation, active, everything)


def _title(session: Session) -> str:
    facts = [
        clean(session.title) or "(no prompt)",
        f"{session.agent}:{session.id[:8]}",
        age(session.updated),
        short_path(session.cwd),
    ]
    return clean("  ".join(fact for fact in facts if fact))
