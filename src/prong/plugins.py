"""Registry of agents, terminals and worker types: built-in and plug-in.

A plug-in names a factory in the entry-point group `prong.agents`; the built-ins below use the same
form. `PRONG_PLUGINS=none` loads no plug-in, `PRONG_PLUGINS=a,b` only those named. A plug-in that
fails to load is reported by `prong doctor` and otherwise ignored.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from prong.errors import NotFound, Unavailable

if TYPE_CHECKING:  # prong-hook imports this module, and most commands start nothing
    from prong.agents.base import AgentStore
    from prong.agents.last_turn import LastTurnReader
    from prong.terminals.base import Terminal

GROUP = "prong.agents"
LAST_TURNS = "prong.last_turn"
TERMINALS = "prong.terminals"
WORKERS = "prong.workers"
"""Entry-point group of worker types, which only the daemon creates."""
_PACKAGE = (".dist-info", ".egg-info")

BUILT_IN: Mapping[str, str] = {
    "claude": "prong.agents.claude.store:ClaudeStore",
    "codex": "prong.agents.codex.store:CodexStore",
}
BUILT_IN_LAST_TURNS: Mapping[str, str] = {
    "claude": "prong.agents.claude.last_turn:ClaudeLastTurn",
    "codex": "prong.agents.codex.last_turn:CodexLastTurn",
}
BUILT_IN_TERMINALS: Mapping[str, str] = {
    "tmux": "prong.terminals.tmux:Tmux",
    "kitty": "prong.terminals.kitty:Kitty",
    "wezterm": "prong.terminals.wezterm:WezTerm",
    "iterm2": "prong.terminals.iterm2:ITerm2",
    "exec": "prong.terminals.paneless:Exec",
    "print": "prong.terminals.paneless:Print",
}


class PlugIn(NamedTuple):
    """Agent plug-in; `error` says why it could not be loaded."""

    name: str
    target: str
    error: str | None = None


class Registry:
    """Agent stores, terminals and worker types by name; stores are created once."""

    def __init__(
        self,
        extra_roots: Mapping[str, tuple[Path, ...]] | None = None,
        commands: Mapping[str, str | tuple[str, ...]] | None = None,
    ) -> None:
        self.extra_roots = extra_roots or {}
        self._commands = commands or {}
        self.plug_ins: list[PlugIn] = []

    @cached_property
    def stores(self) -> Mapping[str, AgentStore]:
        """Agent stores by name, built-in ones first."""
        stores = {name: self._make(target) for name, target in BUILT_IN.items()}
        for name, target in _entry_points():
            try:
                stores[name] = self._plug_in(name, target, stores)
            except Exception as error:  # noqa: BLE001 -- a broken plug-in must not stop prong
                self.plug_ins.append(PlugIn(name, target, f"{type(error).__name__}: {error}"))
            else:
                self.plug_ins.append(PlugIn(name, target))
        return stores

    def make(self, name: str, roots: Sequence[Path]) -> AgentStore:
        """Create a built-in agent store with other roots than its own."""
        return _factory(BUILT_IN[name])(roots)

    def terminal(self, name: str, environ: Mapping[str, str]) -> Terminal:
        """Create a terminal for an environment."""
        target = BUILT_IN_TERMINALS.get(name) or dict(_entry_points(TERMINALS)).get(name)
        if target is None:
            names = ", ".join(self.terminal_names())
            raise NotFound(f"unknown terminal {name!r}", hint=f"one of {names}")
        try:
            return _loaded(target)(environ)
        except Exception as error:
            raise Unavailable(f"the terminal {name} cannot be loaded: {error!r}") from error

    def terminal_names(self) -> list[str]:
        return list(dict.fromkeys([*BUILT_IN_TERMINALS, *dict(_entry_points(TERMINALS))]))

    def worker_type(self, name: str) -> Callable[..., object]:
        """Load the factory of a worker type that a plug-in provides."""
        targets = dict(_entry_points(WORKERS))
        if name not in targets:
            types = ", ".join(targets) or "none are installed: see docs/internals/daemon.md"
            raise NotFound(f"unknown worker type {name!r}", hint=types)
        try:
            return _loaded(targets[name])
        except Exception as error:
            raise Unavailable(f"the worker type {name} cannot be loaded: {error!r}") from error

    def _make(self, target: str) -> AgentStore:
        factory = _factory(target)
        store = factory()
        extra = self.extra_roots.get(store.name)
        store = factory(_distinct([*store.roots, *extra])) if extra else store
        command = self._commands.get(store.name)
        if command is not None and store.command:
            store.command = command
        return store

    def _plug_in(self, name: str, target: str, taken: Mapping[str, AgentStore]) -> AgentStore:
        if name in taken:
            raise ValueError(f"another plug-in already provides agent {name}")
        store = self._make(target)
        if store.name != name:
            # Its sessions would carry a name that resolves to no agent.
            raise ValueError(f"it calls itself {store.name!r}")
        if not isinstance(store, _loaded("prong.agents.base:AgentStore")):
            raise TypeError("it is not an AgentStore")
        return store


def last_turn_reader(agent: str) -> LastTurnReader:
    """Create what `prong-hook` reads the sessions of an agent with; a plug-in may have none."""
    own = BUILT_IN_LAST_TURNS.get(agent) or dict(_entry_points(LAST_TURNS)).get(agent)
    return _loaded(own or "prong.agents.last_turn:LastTurnReader")()


def _distinct(roots: Sequence[Path]) -> list[Path]:
    """Remove folders that are links to another, whose sessions would appear twice."""
    return list({os.path.realpath(root): root for root in reversed(roots)}.values())[::-1]


def _factory(target: str) -> Callable[..., AgentStore]:
    """Load a factory: roots in, store out; without roots, those that the agent itself uses."""
    return _loaded(target)


def _loaded(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


def _entry_points(group: str = GROUP) -> list[tuple[str, str]]:
    setting = os.environ.get("PRONG_PLUGINS")
    if setting == "none" or not _has_plug_ins(group):
        return []
    from importlib.metadata import entry_points

    names = None if setting is None else {name.strip() for name in setting.split(",")}
    return [
        (point.name, point.value)
        for point in entry_points(group=group)
        if names is None or point.name in names
    ]


def _has_plug_ins(group: str) -> bool:
    """Return whether an installed package may have a plug-in.

    Avoids `importlib.metadata`, which loads slowly. Also True for folders that cannot be checked
    this way.
    """
    for folder in dict.fromkeys(sys.path):
        try:
            with os.scandir(folder or ".") as entries:
                packages = [entry.path for entry in entries if entry.name.endswith(_PACKAGE)]
        except FileNotFoundError:
            continue
        except OSError:
            return True  # an archive, or not readable
        for package in packages:
            try:
                with open(os.path.join(package, "entry_points.txt"), "rb") as file:  # noqa: PTH118, PTH123
                    if f"[{group}]".encode() in file.read():
                        return True
            except FileNotFoundError:
                continue
            except OSError:
                return True
    return False
