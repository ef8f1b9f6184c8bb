"""Sizes and counts as text: `73.4 MB`, `2 turns`."""


def size_text(size: int | None) -> str:
    """Format a number of bytes: `73.4 MB`, `12 kB`, or `?` when unknown."""
    if size is None:
        return "?"
    if size >= 1e9:
        return f"{size / 1e9:.1f} GB"
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"


def counted(count: int, one: str, many: str | None = None) -> str:
    """Format a count with its noun: `1 turn`, `2 turns`."""
    return f"{count} {one if count == 1 else many or one + 's'}"
