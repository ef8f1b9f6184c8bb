"""What the last search in this terminal found: `%1` is its first hit.

Each terminal has a file of its own, so that a search in one does not change what `%1` means in
another. The files may be deleted at any time.
"""

import json
import os
import time
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

from prong.errors import NotFound
from prong.files.regular import read_regular
from prong.model.search import Hit
from prong.paths import private_dir

_PANES = (
    ("TMUX_PANE", "TMUX"),
    ("STY", "WINDOW"),
    ("ZELLIJ_PANE_ID", "ZELLIJ_SESSION_NAME"),
    ("WEZTERM_PANE", "WEZTERM_UNIX_SOCKET"),
    ("KITTY_WINDOW_ID", "KITTY_PID"),
    ("TERM_SESSION_ID",),
)
"""Variables that name a pane: the innermost program first, with what tells two of it apart."""
_KEPT_SECONDS = 30 * 24 * 3600
_LONGEST_NUMBER = 9
_HINT = 'prong find "what it was about"'


class HitPlace(NamedTuple):
    """A session, and the turn if the hit has one."""

    agent: str
    session: str
    turn: str | None
    """What to type behind the `@`."""

    def __str__(self) -> str:
        name = f"{self.agent}:{self.session}"
        return name if self.turn is None else f"{name}@{self.turn}"


class LastSearch:
    """The hits of the last search, in order."""

    def __init__(self, folder: Path, terminal: str | None = None) -> None:
        """`terminal` is the one that this process is in, unless another one is named."""
        self._folder = folder
        self._terminal = terminal

    def keep(self, hits: Iterable[Hit]) -> bool:
        """Remember them; False when that is not possible: then no hit has a number."""
        places = [place_of(hit) for hit in hits]
        path = self._path()
        # No name that a process with the same number may have left behind.
        part = path.with_suffix(f".{os.urandom(8).hex()}")
        try:
            private_dir(self._folder)
            self._sweep()
            with open(part, "xb", opener=_private) as file:
                file.write(json.dumps({"hits": places}).encode())
            part.replace(path)
        except OSError:
            with suppress(OSError):
                part.unlink()
            _forget(path)
            return False
        return True

    def hit(self, number: int) -> HitPlace:
        """Where hit N is. Raises `NotFound` when there is no such hit."""
        places = self._read()
        if places is None:
            raise NotFound(f"%{number}: no search was made in this terminal yet", hint=_HINT)
        if not places:
            raise NotFound(f"%{number}: the last search found nothing", hint=_HINT)
        if not 1 <= number <= len(places):
            count = "one hit" if len(places) == 1 else f"{len(places)} hits"
            last = f"%1 to %{len(places)}" if len(places) > 1 else "%1"
            raise NotFound(f"%{number}: the last search had {count}", hint=last)
        place = places[number - 1]
        if place is None:
            raise NotFound(
                f"%{number}: the session of this hit no longer exists", hint="prong list --all"
            )
        return place

    def _path(self) -> Path:
        terminal = self._terminal or terminal_name(os.environ)
        name = terminal.encode("utf-8", "surrogateescape")
        return self._folder / f"{zlib.crc32(name):08x}{zlib.adler32(name):08x}.json"

    def _read(self) -> list[HitPlace | None] | None:
        try:
            known: Any = json.loads(read_regular(self._path()))
            return [_kept(hit) for hit in known["hits"]]
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _sweep(self) -> None:
        """Forget the searches of terminals that are long closed."""
        oldest = time.time() - _KEPT_SECONDS
        for path in self._folder.iterdir():
            with suppress(OSError):  # somebody else does the same
                if path.stat().st_mtime < oldest:
                    path.unlink()


def terminal_name(environment: Mapping[str, str]) -> str:
    """What tells this terminal from others.

    A pane has a name, which also the programs in it know that have no terminal of their own, such
    as a command that an agent runs. Elsewhere it is the session of processes: that of the shell,
    or of whatever started this process where there is no terminal.
    """
    for names in _PANES:
        if environment.get(names[0]):
            return "\0".join([names[0], *(environment.get(name, "") for name in names)])
    leader = os.getsid(0)
    return f"session {leader} {_begun(leader)}"


def _begun(process: int) -> str:
    """When a process was started, where the system tells: numbers of processes are used again.

    Every `prong find` asks this. psutil would take 10 ms to load.
    """
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]


def place_of(hit: Hit) -> HitPlace | None:
    """Where a hit is; None when its session is gone."""
    if hit.ref is None or hit.session is None:
        return None
    turn = hit.turn
    if turn is None:
        return HitPlace(hit.ref.agent, hit.ref.id, None)
    # An id stays what it is when the session is rewound; one of few digits would be a number.
    is_number = turn.id.isdecimal() and len(turn.id) <= _LONGEST_NUMBER
    name = str(turn.index) if is_number and turn.index else turn.id
    return HitPlace(hit.ref.agent, hit.ref.id, name)


def _kept(value: Any) -> HitPlace | None:
    if value is None:
        return None
    agent, session, turn = cast(list[Any], value)
    if not (isinstance(agent, str) and isinstance(session, str)):
        raise TypeError
    return HitPlace(agent, session, turn if isinstance(turn, str) else None)


def _forget(path: Path) -> None:
    """The search before must not be taken for this one. A file without content is as none."""
    try:
        path.unlink(missing_ok=True)
    except OSError:
        with suppress(OSError):  # in a folder that cannot be written to, the file may still be
            os.truncate(path, 0)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
