"""A home with one session that has everything: the one that all these tests fork."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from prong.testing.home import SYSTEM_PATH, IsolatedHome
from tests.cli.shell import Shell
from tests.faults.children import Children
from tests.faults.story import Story

_CLAUDE = """#!/bin/sh
if [ "$1" = --version ]; then echo '2.1.326 (Claude Code)'; exit; fi
for flag in --resume --fork-session --session-id --settings --name; do echo "  $flag"; done
"""


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Children]:
    with Children(tmp_path_factory.mktemp("children")) as children:
        yield children


@pytest.fixture
def shell(isolated_home: IsolatedHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """An empty home and a `claude` that knows its flags."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(_CLAUDE)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{SYSTEM_PATH}")
    for name in ("COLUMNS", "NO_COLOR", "PRONG_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(isolated_home.root)
    return Shell(isolated_home)


@pytest.fixture
def story(shell: Shell) -> Iterator[Story]:
    """The session; in the end its bytes must be those that the test wrote."""
    story = Story.write(shell)
    yield story
    assert story.digest() == story.known
