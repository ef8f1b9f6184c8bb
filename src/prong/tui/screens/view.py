"""Base class of the main screens, with the selection that actions apply to."""

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
"""Columns from which the preview is next to the list instead of below it."""

Wish = Literal["turns", "transcript", "diff", "resume", "fork", "tree", "back"]


def tell_bug(screen: Screen[Any], event: Worker.StateChanged) -> None:
    """Report an unexpected error of a Textual worker; the screen stays usable."""
    if event.state is WorkerState.ERROR:
        worker = cast(Worker[Any], event.worker)  # pyright: ignore[reportUnknownMemberType]
        error = worker.error
        if isinstance(error, ProngError):  # such as too little memory
            text = clean(
                f"{error.message}\ntry: {error.hint}" if error.hint else error.message, lines=True
            )
        else:
            description = clean(f"{type(error).__name__}: {error}")
            text = f"{description}\nreport it: this is a bug in prong"
        screen.notify(text, severity="error", markup=False)


class MainScreen(Screen[None]):
    """A screen that is not a dialog."""

    class Wished(Message):
        """Request for an action on the selection."""

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
        """Reference of the selection, `SESSION[@TURN]`; None if there is none."""
        return None

    @property
    def session(self) -> Session | None:
        """Session of the selection."""
        return None

    @property
    def turn_number(self) -> int | None:
        """Turn number of the selection."""
        return None

    @property
    def highlight(self) -> Highlighter | None:
        """Search matches to highlight in screens opened from here."""
        return None

    @property
    def ui(self) -> TextualApp[Any]:
        """The application, with the type that Textual leaves open."""
        return cast(TextualApp[Any], self.app)  # pyright: ignore[reportUnknownMemberType]

    async def told(self, work: Awaitable[T]) -> T | None:
        """Await the work; report an error instead of raising it."""
        try:
            return await work
        except (ProngError, OSError) as error:
            self.tell(error)
        return None

    def tell(self, error: ProngError | OSError) -> None:
        """Report an error and its hint."""
        message = error.message if isinstance(error, ProngError) else str(error)
        hint = error.hint if isinstance(error, ProngError) else None
        more = f"\ntry: {clean(hint)}" if hint else ""
        self.notify(clean(message) + more, severity="warning", markup=False)
