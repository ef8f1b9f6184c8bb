"""Choice of the terminal in which a worker's pane opens."""

from __future__ import annotations

import os
from collections.abc import Mapping

from prong.config import TerminalSettings
from prong.errors import Unavailable
from prong.model.workers import Pane, Placement
from prong.plugins import Registry
from prong.terminals import detect
from prong.terminals.base import Terminal

_HINT = "install tmux, or say --headless, --terminal exec (in this window) or --terminal print"


class Terminals:
    """Terminals by name, created on first use."""

    def __init__(
        self,
        registry: Registry,
        settings: TerminalSettings | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._registry = registry
        self._settings = settings or TerminalSettings()
        self._environ = dict(os.environ if environ is None else environ)
        # Sockets of the configuration, for use from outside these terminals.
        tmux, kitty = self._settings.tmux_socket, self._settings.kitty_socket
        if tmux is not None and not self._environ.get("TMUX"):
            self._environ.setdefault("PRONG_TMUX_SOCKET", str(tmux))
        if kitty is not None and not self._environ.get("KITTY_LISTEN_ON"):
            self._environ.setdefault("PRONG_KITTY_SOCKET", kitty)
        self._made: dict[str, Terminal] = {}

    def names(self) -> list[str]:
        return self._registry.terminal_names()

    def named(self, name: str) -> Terminal:
        """Return a terminal by name. Raises `NotFound`, listing the known ones."""
        if name not in self._made:
            self._made[name] = self._registry.terminal(name, self._environ)
        return self._made[name]

    def of(self, pane: Pane) -> Terminal:
        return self.named(pane.terminal)

    def here(self) -> Terminal | None:
        """Return the innermost terminal around this process that can open panes."""
        candidates = map(self.named, detect.inside(self._environ))
        return next((item for item in candidates if item.is_here and item.problem() is None), None)

    def for_worker(self, wanted: str | None = None) -> Terminal:
        """Return the requested, configured or current terminal, else a detached tmux."""
        if name := wanted or self._settings.default:
            terminal = self.named(name)
            if problem := terminal.problem():
                raise Unavailable(f"no pane can be opened in {name}: {problem}", hint=_HINT)
            return terminal
        if terminal := self.here():
            return terminal
        tmux = self.named("tmux")
        if tmux.problem() is not None:
            raise Unavailable("no terminal found to open a pane in", hint=_HINT)
        return tmux

    def place(self, wanted: Placement | None = None) -> Placement:
        return wanted or Placement(self._settings.place)
