"""Small things about text that several agents need."""

_TITLE_LENGTH = 200


def first_line(text: str) -> str:
    """The first line that says something, short enough for a title."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line), "")[:_TITLE_LENGTH]
