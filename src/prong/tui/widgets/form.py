"""Fields of forms."""

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input, Static

from prong.views.text import cells


class Choice(Widget, can_focus=True):
    """One-line choice; arrow keys, Space or a click select the next value."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,space", "turn(1)", "Next", show=False),
        Binding("left", "turn(-1)", "Before", show=False),
    ]
    at: reactive[int] = reactive(0)

    class Changed(Message):
        """The user chose another value."""

    def __init__(
        self,
        label: str,
        values: Sequence[tuple[str, str]],
        *,
        id: str | None = None,  # noqa: A002 -- as every widget calls it
    ) -> None:
        """`values` are pairs of value and label."""
        super().__init__(id=id)
        self._label = label
        self._values = list(values)

    @property
    def value(self) -> str:
        return self._values[self.at][0]

    def choose(self, value: str | None) -> None:
        """Select a value without sending `Changed`."""
        with self.prevent(self.Changed):
            self.at = self._place(value)
        self.refresh(layout=True)

    def offer(self, values: Sequence[tuple[str, str]], value: str | None = None) -> None:
        if list(values) == self._values and self._place(value) == self.at:
            return  # unchanged: avoid a layout
        self._values = list(values)
        self.set_reactive(Choice.at, 0)
        self.choose(value)

    def _place(self, value: str | None) -> int:
        return next((n for n, pair in enumerate(self._values) if pair[0] == value), 0)

    def action_turn(self, by: int) -> None:
        self.at = (self.at + by) % len(self._values)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.action_turn(1)

    def watch_at(self, old: int, new: int) -> None:
        self.set_class(new != 0, "-chosen")
        if old != new:
            self.post_message(self.Changed())

    def render(self) -> Content:
        label = f"{self._label} " if self._label else ""
        return Content.assemble(
            (label, "$text-muted"),
            ("<", "$text-disabled"),
            self._values[self.at][1],
            (">", "$text-disabled"),
        )

    def get_content_width(self, container: Size, viewport: Size) -> int:
        widest = max(cells(text) for _, text in self._values)
        return len(self._label) + bool(self._label) + 2 + widest


class Field(Horizontal):
    def __init__(self, label: str, *widgets: Widget, id: str | None = None) -> None:  # noqa: A002 -- as every widget calls it
        super().__init__(Static(label, classes="label"), *widgets, id=id)


class TextLine(Input):
    """Input that joins pasted lines; Textual's keeps only the first."""

    def on_paste(self, event: events.Paste) -> None:
        lines = (line.strip() for line in event.text.splitlines())
        event.text = " ".join(line for line in lines if line)
