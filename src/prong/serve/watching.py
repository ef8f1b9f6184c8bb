"""Watching the folders in which something changes when an agent begins, ends or waits."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Event, Thread

_GATHER = 20
"""For so many milliseconds changes are gathered: they come in bursts."""
_LONGEST = 100
"""And never longer than that."""
_REFRESH = 500
"""After so many milliseconds it is looked whether a missing folder is there now."""
_BLIND = 0.3
"""Where nothing can be watched, something may have changed after so many seconds."""

_log = logging.getLogger(__name__)


class Watch:
    """Says when something changed in these folders, which may come and go. Not below them."""

    def __init__(self, changed: Callable[[], None], is_of_interest: Callable[[str], bool]) -> None:
        self._changed = changed
        self._is_of_interest = is_of_interest
        self._folders: frozenset[Path] = frozenset()
        self._again = Event()
        """Set when other folders are to be watched, or none any more."""
        self._over = False
        self._thread = Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over = True
        self._again.set()

    def watch(self, folders: Iterable[Path]) -> None:
        """From now on these and no others."""
        wanted = frozenset(folders)
        if wanted != self._folders:
            self._folders = wanted
            self._again.set()

    def _run(self) -> None:
        while not self._over:
            self._again.clear()
            there = self._there()
            try:
                self._watch(there)
            except Exception as error:  # noqa: BLE001 -- too many watchers, a folder that went away
                _log.warning("changes are not seen at once: %s", error)
                while not self._over and self._there() == there:
                    self._again.wait(_BLIND)
                    self._changed()

    def _watch(self, there: frozenset[Path]) -> None:
        from watchfiles import watch

        if not there:
            self._again.wait(_REFRESH / 1000)
            return
        told = watch(
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
        # What happened before the watch began was not seen.
        self._changed()
        for changes in told:
            if any(self._is_of_interest(path) for _, path in changes):
                self._changed()
            if self._over or self._there() != there:
                return

    def _there(self) -> frozenset[Path]:
        return frozenset(folder for folder in self._folders if folder.is_dir())
