"""Garbage is collected in the event loop, too, and must not be felt there."""

import gc

_OBJECTS = 2_000
_YOUNG = 10
_OLD = 10_000
"""How many collections of one generation come before one of the next."""


def settle() -> None:
    """What is loaded by now stays until the end: no collection looks at it again.

    A full one took up to 90 ms, most of it for modules, and a key that is pressed meanwhile waits.
    What is thrown away is nearly always young, so the old is hardly ever looked at, and the young
    in small portions: with 10,000 objects at a time, a key in twenty waited 10 ms and more.
    """
    gc.freeze()
    gc.set_threshold(_OBJECTS, _YOUNG, _OLD)
