"""File watching of the folders that change with a worker's state."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Event, Thread

_GATHER = 20
"""Milliseconds to gather changes, which come in bursts."""
_LONGEST = 100
"""Maximum milliseconds to gather changes."""
_REFRESH = 500
"""Milliseconds between checks for folders that did not exist yet."""
_BLIND = 0.3
"""Seconds between assumed changes when watching fails."""

_log = logging.getLogger(__name__)


class Watch:
    """Watcher that reports changes in a set of folders, not below them. Folders may come and go."""

    def __init__(self, changed: Callable[[], None], is_of_interest: Callable[[str], bool]) -> None:
        self._changed = changed
        self._is_of_interest = is_of_interest
        self._folders: frozenset[Path] = frozenset()
        self._again = Event()
        """Set when the set of folders changes, and to stop."""
        self._over = False
        self._thread = Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over = True
        self._again.set()

    def watch(self, folders: Iterable[Path]) -> None:
        """Replace the set of watched folders."""
        new = frozenset(folders)
        if new != self._folders:
            self._folders = new
            self._again.set()

    def _run(self) -> None:
        while not self._over:
            self._again.clear()
            existing = self._there()
            try:
                self._watch(existing)
            except Exception as error:  # noqa: BLE001 -- too many watchers, a folder that went away
                _log.warning("changes are not seen at once: %s", error)
                while not self._over and self._there() == existing:
                    self._again.wait(_BLIND)
                    self._changed()

    def _watch(self, there: frozenset[Path]) -> None:
        from watchfiles import watch

        if not there:
            self._again.wait(_REFRESH / 1000)
            return
        batches = watch(
            *there,
            watch_filter=None,
            debounce=_LONGEST,
            step=_GATHER,
            rust_timeout=_REFRESH,
            yield_on_timeout=True,
            stop_event=self._again,
            raise_interrupt=False,
            recursive=False,
        )
        # Changes before the watch started were missed.
        self._changed()
        for changes in batches:
            if any(self._is_of_interest(path) for _, path in changes):
                self._changed()
            if self._over or self._there() != there:
                return

    def _there(self) -> frozenset[Path]:
        return frozenset(folder for folder in self._folders if folder.is_dir())
