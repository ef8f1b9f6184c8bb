"""What stands on the screen of an agent, as a terminal captures it."""


def foot(screen: str, rows: int = 3) -> str:
    """The last rows that say something: there a dialog tells how it is left."""
    said = [row for row in screen.splitlines() if row.strip()]
    return "\n".join(said[-rows:])
