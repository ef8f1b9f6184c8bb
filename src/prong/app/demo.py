"""A throw-away home with sample sessions and a git repository, to try prong on."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from prong.model import SessionRef
from prong.ports import AgentStore, HasProgram, HasSamples
from prong.registry import BUILT_IN, Registry

_README = "# Shop\n\nA small web shop, made for `prong demo`.\n"


@dataclass(frozen=True)
class Demo:
    """What was written."""

    repository: Path
    stores: Mapping[str, AgentStore]
    sessions: tuple[SessionRef, ...]
    """For each agent a session that is worth a look."""
    environment: Mapping[str, str]
    """What to set to use prong on the samples."""


def write(registry: Registry, home: Path) -> Demo:
    """Write the samples into an empty folder. Nothing outside of it is touched."""
    repository = home / "shop"
    repository.mkdir(parents=True)
    (repository / "README.md").write_text(_README, encoding="utf-8")
    _make_repository(repository, home)
    stores = {name: registry.make(name, [home / f".{name}"]) for name in BUILT_IN}
    now = datetime.now(UTC)
    sessions = [
        store.write_samples(str(repository), now)
        for store in stores.values()
        if isinstance(store, HasSamples)
    ]
    environment = {
        store.program.root_variable: str(store.roots[0])
        for store in stores.values()
        if isinstance(store, HasProgram)
    }
    return Demo(repository, stores, tuple(sessions), environment)


def _make_repository(repository: Path, home: Path) -> None:
    git = shutil.which("git")
    if git is None:
        # Sessions can be shown without git; the folder is then no repository.
        return
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    identity = ["-c", "user.name=Demo", "-c", "user.email=demo@localhost"]
    for arguments in (
        ["init", "--quiet", "--initial-branch=main"],
        ["add", "README.md"],
        [*identity, "commit", "--quiet", "--message=Start"],
    ):
        subprocess.run(
            [git, *arguments],
            cwd=repository,
            env=environment,
            check=False,  # as without git
            capture_output=True,
            timeout=30,
        )
