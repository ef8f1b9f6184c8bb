"""Single-line text field."""

from textual import events
from textual.widgets import Input


class TextLine(Input):
    """Input that joins pasted lines; Textual's keeps only the first."""

    def on_paste(self, event: events.Paste) -> None:
        lines = (line.strip() for line in event.text.splitlines())
        event.text = " ".join(line for line in lines if line)
