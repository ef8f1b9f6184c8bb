"""Git in a home of its own."""

from pathlib import Path

import pytest

from prong.testing.home import IsolatedHome
from tests.code.lab import Lab


@pytest.fixture(autouse=True)
def _home(isolated_home: IsolatedHome) -> None:
    """No settings of the machine's user."""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """An empty repository."""
    return Lab.make(tmp_path / "work")


@pytest.fixture
def used(lab: Lab) -> Lab:
    """A repository with a commit."""
    lab.write("a.txt", "one\n")
    lab.write("src/b.py", "print(1)\n")
    lab.write("src/deep/c.py", "print(2)\n").chmod(0o755)
    lab.write(".gitignore", "*.log\nbuild/\n")
    lab.commit()
    return lab
