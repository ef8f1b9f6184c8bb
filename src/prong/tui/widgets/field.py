"""Form field: a label and its widgets."""

from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Static


class Field(Horizontal):
    def __init__(self, label: str, *widgets: Widget, id: str | None = None) -> None:  # noqa: A002 -- as every widget calls it
        super().__init__(Static(label, classes="label"), *widgets, id=id)
