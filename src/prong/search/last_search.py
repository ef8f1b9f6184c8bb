"""Hits of the last search in this terminal: `%1` is its first hit.

Each terminal has its own file, so that a search in one does not change what `%1` means in another.
The files may be deleted at any time.
"""

import json
import os
import time
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from prong.errors import NotFound
from prong.files.atomic import write_private
from prong.files.regular import read_regular
from prong.model.record import convert
from prong.model.search import Hit

_PANES = (
    ("TMUX_PANE", "TMUX"),
    ("STY", "WINDOW"),
    ("ZELLIJ_PANE_ID", "ZELLIJ_SESSION_NAME"),
    ("WEZTERM_PANE", "WEZTERM_UNIX_SOCKET"),
    ("KITTY_WINDOW_ID", "KITTY_PID"),
    ("TERM_SESSION_ID",),
)
"""Environment variables that identify a pane, innermost program first."""
_KEPT_SECONDS = 30 * 24 * 3600
_LONGEST_NUMBER = 9
_HINT = 'prong find "what it was about"'


class HitPlace(NamedTuple):
    """The session of a hit, and its turn if it has one."""

    agent: str
    session: str
    turn: str | None
    """The text after the `@`."""

    def __str__(self) -> str:
        name = f"{self.agent}:{self.session}"
        return name if self.turn is None else f"{name}@{self.turn}"


class LastSearch:
    def __init__(self, folder: Path, terminal: str | None = None) -> None:
        """Use the terminal of this process unless another one is given."""
        self._folder = folder
        self._terminal = terminal

    def keep(self, hits: Iterable[Hit]) -> bool:
        """Save the hits; on failure return False, and no hit has a number."""
        places = [place_of(hit) for hit in hits]
        path = self._path()
        try:
            write_private(path, json.dumps({"hits": places}).encode(), sync=False)
            self._sweep()
        except OSError:
            # Delete the previous hits, or empty the file: the folder may be read-only.
            try:
                path.unlink(missing_ok=True)
            except OSError:
                with suppress(OSError):
                    os.truncate(path, 0)
            return False
        return True

    def hit(self, number: int) -> HitPlace:
        """Return the session and turn of hit N. Raises `NotFound` without such a hit."""
        places = self._read()
        if places is None:
            raise NotFound(f"%{number}: no search was made in this terminal yet", hint=_HINT)
        if not places:
            raise NotFound(f"%{number}: the last search found nothing", hint=_HINT)
        if not 1 <= number <= len(places):
            count = "one hit" if len(places) == 1 else f"{len(places)} hits"
            last = f"%1 to %{len(places)}" if len(places) > 1 else "%1"
            raise NotFound(f"%{number}: the last search had {count}", hint=last)
        hit_place = places[number - 1]
        if hit_place is None:
            raise NotFound(
                f"%{number}: the session of this hit no longer exists", hint="prong list --all"
            )
        return hit_place

    def _path(self) -> Path:
        terminal = self._terminal or terminal_name(os.environ)
        name = terminal.encode("utf-8", "surrogateescape")
        return self._folder / f"{zlib.crc32(name):08x}{zlib.adler32(name):08x}.json"

    def _read(self) -> list[HitPlace | None] | None:
        try:
            saved: Any = json.loads(read_regular(self._path()))
            return convert(saved["hits"], list[HitPlace | None])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _sweep(self) -> None:
        """Delete old files, mostly of closed terminals."""
        oldest = time.time() - _KEPT_SECONDS
        for path in self._folder.iterdir():
            with suppress(OSError):  # another process may delete the same file
                if path.stat().st_mtime < oldest:
                    path.unlink()


def terminal_name(environment: Mapping[str, str]) -> str:
    """Return a string that identifies this terminal.

    A pane has an id in the environment, which also reaches programs without a terminal of their
    own, such as commands that an agent runs. Elsewhere it is the process session: that of the
    shell, or of whatever started this process without a terminal.
    """
    for names in _PANES:
        if environment.get(names[0]):
            return "\0".join([names[0], *(environment.get(name, "") for name in names)])
    leader = os.getsid(0)
    return f"session {leader} {_begun(leader)}"


def _begun(process: int) -> str:
    """Return the start time of a process on Linux, because process ids are reused.

    Every `prong find` needs this, and psutil would take 10 ms to load.
    """
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]


def place_of(hit: Hit) -> HitPlace | None:
    """Return the session and turn of a hit; None when its session is gone."""
    if hit.ref is None or hit.session is None:
        return None
    turn = hit.turn
    if turn is None:
        return HitPlace(hit.ref.agent, hit.ref.id, None)
    # An id survives a rewind, but a short one of digits would be taken for a number.
    is_number = turn.id.isdecimal() and len(turn.id) <= _LONGEST_NUMBER
    name = str(turn.index) if is_number and turn.index else turn.id
    return HitPlace(hit.ref.agent, hit.ref.id, name)
