"""What the screens have in common: a place that is looked at, which can be forked from."""

from collections.abc import Awaitable
from typing import Any, Literal, TypeVar, cast

from textual import events
from textual.app import App as TextualApp
from textual.message import Message
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from prong.errors import ProngError
from prong.model.sessions import Session
from prong.search.passages import Highlighter
from prong.views.text import clean

T = TypeVar("T")

_WIDE = 110
"""Columns from which on the preview stands beside the list, not below it."""

Wish = Literal["turns", "transcript", "diff", "resume", "fork", "tree", "back"]


def tell_bug(screen: Screen[Any], event: Worker.StateChanged) -> None:
    """Say what went wrong that should not have: the screen stays, and nothing is kept silent."""
    if event.state is WorkerState.ERROR:
        worker = cast(Worker[Any], event.worker)  # pyright: ignore[reportUnknownMemberType]
        error = worker.error
        if isinstance(error, ProngError):  # such as too little memory
            text = clean(
                f"{error.message}\ntry: {error.hint}" if error.hint else error.message, lines=True
            )
        else:
            told = clean(f"{type(error).__name__}: {error}")
            text = f"{told}\nreport it: this is a bug in prong"
        screen.notify(text, severity="error", markup=False)


class MainScreen(Screen[None]):
    """A screen that is not a dialog."""

    class Wished(Message):
        """Somebody wants to see, or do, something with the place where the cursor is."""

        def __init__(self, view: "MainScreen", wish: Wish) -> None:
            super().__init__()
            self.view = view
            self.wish: Wish = wish

    def wish(self, wish: Wish) -> None:
        self.post_message(self.Wished(self, wish))

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        tell_bug(self, event)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width < _WIDE, "-narrow")

    @property
    def point(self) -> str | None:
        """`SESSION[@TURN]` where the cursor is; None when there is nothing."""
        return None

    @property
    def session(self) -> Session | None:
        """The session where the cursor is."""
        return None

    @property
    def turn_number(self) -> int | None:
        """The number of the turn where the cursor is."""
        return None

    @property
    def highlight(self) -> Highlighter | None:
        """What was searched for, to be seen in what is opened from here."""
        return None

    @property
    def ui(self) -> TextualApp[Any]:
        """The program that this is a screen of; Textual leaves open what it gives back."""
        return cast(TextualApp[Any], self.app)  # pyright: ignore[reportUnknownMemberType]

    async def told(self, work: Awaitable[T]) -> T | None:
        """Do it; what goes wrong is told, and ends nothing."""
        try:
            return await work
        except (ProngError, OSError) as error:
            self.tell(error)
        return None

    def tell(self, error: ProngError | OSError) -> None:
        """What went wrong, and what to do."""
        message = error.message if isinstance(error, ProngError) else str(error)
        hint = error.hint if isinstance(error, ProngError) else None
        more = f"\ntry: {clean(hint)}" if hint else ""
        self.notify(clean(message) + more, severity="warning", markup=False)
