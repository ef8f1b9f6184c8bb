"""Where prong keeps its own files."""

from pathlib import Path

import pytest

from prong import paths
from prong.testing.home import IsolatedHome


def test_below_the_xdg_folders(isolated_home: IsolatedHome) -> None:
    assert paths.config_file() == isolated_home.root / ".config/prong/config.toml"
    assert paths.cache_dir() == isolated_home.root / ".cache/prong"
    assert paths.data_dir() == isolated_home.root / ".local/share/prong"


@pytest.mark.parametrize("value", ["", "relative/path", None])
def test_without_them_below_the_home(
    isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        if value is None:
            monkeypatch.delenv(name)
        else:
            monkeypatch.setenv(name, value)
    assert paths.config_file() == isolated_home.root / ".config/prong/config.toml"
    assert paths.cache_dir() == isolated_home.root / ".cache/prong"
    assert paths.data_dir() == isolated_home.root / ".local/share/prong"


def test_worktrees_are_data(isolated_home: IsolatedHome) -> None:
    assert paths.worktrees_dir() == paths.data_dir() / "worktrees"


def test_a_private_folder(tmp_path: Path) -> None:
    folder = paths.private_dir(tmp_path / "a/b")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert paths.private_dir(folder) == folder
