"""Garbage collection settings that keep the event loop responsive."""

import gc

_OBJECTS = 2_000
_YOUNG = 10
_OLD = 10_000
"""Number of collections of one generation before one of the next."""


def settle() -> None:
    """Freeze all objects loaded so far, and collect new ones in small steps.

    A full collection took up to 90 ms, mostly for modules, and delayed keys. Garbage is nearly
    always young, so old objects are rarely examined, and young ones in small portions: with a
    threshold of 10,000 objects, one key in twenty waited 10 ms or more.
    """
    gc.freeze()
    gc.set_threshold(_OBJECTS, _YOUNG, _OLD)
