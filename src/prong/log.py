"""Debug logging that imports `logging` only when used: it loads slowly."""


def debug(name: str, message: str, *values: object) -> None:
    """Log to the logger of a module."""
    import logging

    logging.getLogger(name).debug(message, *values)
