"""Messages for whoever looks for a fault. `logging` is loaded when there is one: it takes long."""


def debug(name: str, message: str, *values: object) -> None:
    """To the logger of that name, a module's."""
    import logging

    logging.getLogger(name).debug(message, *values)
