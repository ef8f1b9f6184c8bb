from pathlib import Path

import pytest

from prong.agents.claude.folders import project_folder
from prong.agents.claude.store import ClaudeStore
from prong.testing.home import IsolatedHome


@pytest.mark.parametrize(
    ("cwd", "folder"),
    [
        ("/home/me/shop", "-home-me-shop"),
        ("/home/me/shop/", "-home-me-shop"),
        ("/w/a.b", "-w-a-b"),
        ("/w/a_b", "-w-a-b"),
        ("/w/a b", "-w-a-b"),
        ("/w/MixedCase9", "-w-MixedCase9"),
        ("/w/café", "-w-caf-"),
        ("/w/cafe\u0301", "-w-cafe-"),
        ("/w/日本", "-w---"),
        ("/w/a🎉b", "-w-a--b"),
        ("/w/٣", "-w--"),
        ("/", "-"),
    ],
)
def test_every_unit_that_is_no_ascii_letter_or_digit_is_a_dash(cwd: str, folder: str) -> None:
    assert project_folder(cwd) == folder


def test_a_link_is_resolved(tmp_path: Path) -> None:
    target = tmp_path / "real"
    target.mkdir()
    link = tmp_path / "link"
    link.symlink_to(target)
    assert project_folder(link) == project_folder(target)


def test_two_hundred_units_stay_whole_and_one_more_is_cut_and_hashed() -> None:
    whole = "/" + "a" * 199
    assert project_folder(whole) == "-" + "a" * 199
    cut = project_folder(whole + "b")
    assert cut.startswith("-" + "a" * 199 + "-")
    assert cut[201:].isalnum()


def java_script_hash(path: str) -> str:
    """The hash as the CLI computes it, spelled out: h = (h << 5) - h + unit | 0."""
    value = 0
    data = path.encode("utf-16-be")
    for high, low in zip(data[::2], data[1::2], strict=True):
        value = ((value << 5) - value + (high << 8 | low)) & 0xFFFFFFFF
    signed = value - (1 << 32) if value & 0x80000000 else value
    number, digits = abs(signed), ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits or "0"


@pytest.mark.parametrize("tail", ["plain", "é" * 10, "🎉" * 5, "日本語", "x.y_z"])
def test_the_hash_is_that_of_the_path_before_anything_was_replaced(tail: str) -> None:
    path = "/w/" + "long" * 50 + tail
    units = "".join("-" if not (c.isascii() and c.isalnum()) else c for c in path)
    assert project_folder(path) == f"{units[:200]}-{java_script_hash(path)}"


def test_paths_that_differ_behind_the_cut_get_different_folders() -> None:
    long = "/w/" + "x" * 300
    assert project_folder(long + "1") != project_folder(long + "2")


def test_a_path_of_undecodable_bytes_has_a_folder_too() -> None:
    assert project_folder("/w/caf\udce9") == "-w-caf-"


def test_an_emoji_counts_twice_towards_the_limit() -> None:
    assert len(project_folder("/" + "a" * 197 + "🎉")) == 200
    assert len(project_folder("/" + "a" * 198 + "🎉")) > 201


def test_the_root_follows_the_environment(
    isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ClaudeStore().roots == (isolated_home.root / ".claude",)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/elsewhere")
    assert ClaudeStore().roots == (Path("/elsewhere"),)
