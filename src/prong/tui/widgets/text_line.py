"""A line to type into."""

from textual import events
from textual.widgets import Input


class TextLine(Input):
    """What is pasted into it comes whole, in one line; Textual's takes the first line alone."""

    def on_paste(self, event: events.Paste) -> None:
        lines = (line.strip() for line in event.text.splitlines())
        event.text = " ".join(line for line in lines if line)
