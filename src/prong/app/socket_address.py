"""A unix socket at a path of any length. The system takes about a hundred bytes of it.

A longer path is reached through a link in a short folder. It is there for the moment only in which
a socket is bound or connected.
"""

import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from prong.errors import Unavailable

LONGEST = 103 if sys.platform == "darwin" else 107
"""In bytes; one more ends the name."""


@contextmanager
def address(path: Path) -> Generator[str]:
    """What to bind or connect instead of a path."""
    if len(os.fsencode(path)) <= LONGEST:
        yield str(path)
        return
    import tempfile

    for place in _short_places():
        try:
            folder = tempfile.mkdtemp(prefix="prong-", dir=place)
        except OSError:
            continue
        link = Path(folder) / "d"
        try:
            link.symlink_to(path.parent.absolute())
            yield str(link / path.name)
        finally:
            with suppress(OSError):
                link.unlink()
                link.parent.rmdir()
        return
    raise Unavailable(
        f"{path} is too long for a socket", hint="set XDG_STATE_HOME to a shorter folder"
    )


def _short_places() -> Iterator[str]:
    """Folders in which the link would not be too long itself."""
    import tempfile

    for place in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):  # noqa: S108
        if place and len(os.fsencode(place)) + len("/prong-xxxxxxxx/d/daemon.sock") <= LONGEST:
            yield place
