"""Garbage is collected in the event loop, too, and must not be felt there."""

import gc

_OBJECTS = 10_000
_YOUNG = 20
_OLD = 1_000
"""How many collections of one generation come before one of the next."""


def settle() -> None:
    """What is loaded by now stays until the end: no collection looks at it again.

    A full one took up to 90 ms, most of it for modules, and a key that is pressed meanwhile waits.
    What is thrown away is nearly always young, so the old is hardly ever looked at.
    """
    gc.freeze()
    gc.set_threshold(_OBJECTS, _YOUNG, _OLD)
