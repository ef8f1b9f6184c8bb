"""A temporary home with sample sessions and a git repository, to try prong."""

import os
import shutil
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from prong import paths
from prong.agents.base import AgentStore
from prong.code.capture import Capture
from prong.code.snapshots import snapshot
from prong.errors import ProngError
from prong.model.code import TurnKey
from prong.model.record import Record, field
from prong.model.sessions import SessionRef
from prong.plugins import BUILT_IN, Registry

_AHEAD = timedelta(minutes=30)
"""Sample times are on full hours; this keeps "4h ago" true while the demo runs."""
_AGE = timedelta(days=4)
"""Age of the sample repository: older than all sessions."""
_OWN = {"XDG_STATE_HOME": "state", "XDG_DATA_HOME": "data", "XDG_CACHE_HOME": "cache"}
"""Folders for prong's own data."""


class Demo(Record, frozen=True):
    """The written samples and how to use them."""

    repository: Path
    stores: Mapping[str, AgentStore]
    sessions: tuple[SessionRef, ...]
    """One interesting session per agent."""
    environment: Mapping[str, str]
    """Variables to set to use prong on the samples."""
    has_code: bool
    """Whether the code of turns was captured, which needs git."""

    @contextmanager
    def entered(self) -> Generator[None]:
        """Set these variables, and ignore the user's own settings."""
        with _setting({**self.environment, **_private(self.repository.parent)}):
            yield


def write(registry: Registry, home: Path) -> Demo:
    """Write the samples into an empty folder. Nothing outside it changes."""
    shop = _Shop(home / "shop", datetime.now(UTC) + _AHEAD)
    shop.folder.mkdir(parents=True)
    variables = {name: str(home / folder) for name, folder in _OWN.items()}
    stores = {name: registry.make(name, [home / f".{name}"]) for name in BUILT_IN}
    with _setting(variables | _private(home)):
        sessions = [
            store.write_samples(str(shop.folder), shop.now, shop.turn_over)
            for store in stores.values()
        ]
        count = 0
        with suppress(ProngError):
            count = Capture(paths.state_dir()).rebuild(shop.folder)
    roots = {
        store.program.root_variable: str(store.roots[0])
        for store in stores.values()
        if store.program
    }
    return Demo(shop.folder, stores, tuple(sessions), roots | variables, has_code=count > 0)


class _Shop(Record):
    """The sample repository, in which the sample turns take place."""

    folder: Path
    now: datetime
    _files: set[str] = field(default_factory=set[str])

    def turn_over(self, key: TurnKey, when: datetime, files: Mapping[str, str]) -> None:
        """Apply the file changes of a turn and capture them like a hook."""
        begins = not self._files
        self._write(files)
        git = shutil.which("git")
        if git is None:
            return  # sessions can be shown without git; the folder is then no repository
        if begins:
            self._make_repository(git)
        # A failing git is treated like a missing one.
        with suppress(ProngError):
            snapshot.take(self.folder, key, when=when)

    def _write(self, files: Mapping[str, str]) -> None:
        for name in self._files - files.keys():
            (self.folder / name).unlink()
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self._files = set(files)

    def _make_repository(self, git: str) -> None:
        started = (self.now - _AGE).isoformat()
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self.folder.parent),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_DATE": started,
            "GIT_COMMITTER_DATE": started,
        }
        for words in (
            ["init", "--quiet", "--initial-branch=main"],
            ["add", "--all"],
            ["commit", "--quiet", "--message=Start"],
        ):
            subprocess.run(
                [git, "-c", "user.name=Demo", "-c", "user.email=demo@localhost", *words],
                cwd=self.folder,
                env=environment,
                check=False,
                capture_output=True,
                timeout=30,
            )


def _private(home: Path) -> dict[str, str]:
    """Return variables that keep prong and git from reading the user's settings."""
    return {
        "XDG_CONFIG_HOME": str(home / ".config"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }


@contextmanager
def _setting(variables: Mapping[str, str]) -> Generator[None]:
    """Set environment variables temporarily."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
