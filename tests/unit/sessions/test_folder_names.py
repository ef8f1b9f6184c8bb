"""Folders by their names."""

import pytest

from prong.session.folder_names import is_windows


@pytest.mark.parametrize("text", ["C:\\a", "c:/a", "\\\\host\\a"])
def test_folders_of_windows(text: str) -> None:
    assert is_windows(text)


@pytest.mark.parametrize("text", ["", "/a", "C:", "C:a", "é:\\a", "1:/a", "a\\b", ":/a"])
def test_other_folders(text: str) -> None:
    assert not is_windows(text)
