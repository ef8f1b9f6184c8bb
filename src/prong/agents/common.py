"""Small things that several agents need."""

_TITLE_LENGTH = 200


def move(folders: list[str], folder: str) -> None:
    """Keep each folder once, in the order in which they were last entered."""
    if folders and folders[-1] == folder:
        return
    if folder in folders:
        folders.remove(folder)
    folders.append(folder)


def first_line(text: str) -> str:
    """The first line that says something, short enough for a title."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line), "")[:_TITLE_LENGTH]
