"""Tables fit the terminal, whatever stands in them."""

import unicodedata

import pytest

from tests.cli.shell import API, NOW, Shell
from tests.samples.codex import CodexSample

LONG = "word " * 60
TITLES = [
    LONG,
    "日本語のタイトル" * 20,
    "한국어 제목 " * 20,
    "🎉🚀👩‍👩‍👧‍👦🏳️‍🌈❤️✔️" * 20,
    "e\u0301a\u0308" * 90,
    "x",
]
WIDTHS = [20, 40, 59, 60, 80, 99, 100, 140, 200]


def columns(text: str) -> int:
    """What a terminal needs at most: wide signs two columns, marks on other signs none."""
    count = 0
    for character in text:
        if unicodedata.category(character) in ("Mn", "Me", "Cf"):
            continue
        count += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return count


@pytest.fixture
def crowd(shell: Shell) -> Shell:
    """Sessions with titles of all scripts, in deep folders, and forks of them."""
    deep = "/srv/" + "folder/" * 12 + "日本語"
    for number, title in enumerate(TITLES, start=1):
        sample = shell.session(number, cwd=deep, age=number)
        at = sample.prompt(title)
        sample.tools(("Bash", {"command": title}, "Exit code 1\n" + title), failed=[0])
        sample.answer(title, tokens=123_456)
        sample.write(shell.home.claude)
        fork = sample.branch_off(f"{number:08x}-1111-4000-8000-{number:012x}", at)
        fork.prompt(title)
        fork.entrypoint = "claude-vscode"
        fork.answer(title)
        fork.write(shell.home.claude)
    for letter in "ab":  # ids that differ only at the end
        thread = CodexSample(f"01a1e076-654d-7c10-8a51-5f3f9e1b0d0{letter}", deep, NOW)
        thread.turn(LONG, LONG)
        thread.write(shell.home.codex)
    return shell


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_of_a_list_is_longer_than_the_terminal(crowd: Shell, width: int) -> None:
    lines = crowd.ok("list", COLUMNS=str(width)).splitlines()
    assert len(lines) >= len(TITLES) * 2
    # A name is never cut: a cut one cannot be typed.
    names = {session["ref"] for session in crowd.json("list")["sessions"]}
    assert [line for line in lines if columns(line) > width and line not in names] == []


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_no_line_of_a_tree_is_longer_than_the_terminal(crowd: Shell, width: int) -> None:
    lines = crowd.ok("tree", "--all", COLUMNS=str(width)).splitlines()
    assert len(lines) == len(TITLES) * 2 + 2
    assert [line for line in lines if columns(line) > width] == []


@pytest.mark.parametrize("width", [80, 100, 140])
def test_turns_fit(crowd: Shell, width: int) -> None:
    for session in crowd.json("list", "--agent", "claude")["sessions"]:
        for line in crowd.ok("turns", session["ref"], COLUMNS=str(width)).splitlines():
            assert columns(line) <= width


@pytest.mark.parametrize("width", [60, 80, 140])
def test_tool_lines_and_rules_of_a_transcript_fit(crowd: Shell, width: int) -> None:
    for session in crowd.json("list", "--agent", "claude")["sessions"]:
        lines = crowd.ok("show", session["ref"], COLUMNS=str(width)).splitlines()
        for line in lines[:2] + [line for line in lines if line.startswith(("*", "──"))]:
            assert columns(line) <= width


def test_narrow_has_two_lines_for_a_session(samples: Shell) -> None:
    lines = samples.ok("list", COLUMNS="40").splitlines()
    assert len(lines) == 10
    assert lines[2] == "claude:60309e1e  4h ago"
    assert lines[3] == "  Rate limiting for the public API"
    assert lines[1] == "  Rate limiting with a sliding w… [fork]"


def test_medium_has_no_folder(samples: Shell) -> None:
    lines = samples.ok("list", COLUMNS="80").splitlines()
    assert len(lines) == 5
    assert lines[1] == "claude:60309e1e      4h ago     4  Rate limiting for the public API"
    assert lines[3].endswith("Write a parser for the suppliers' price list…")


def test_wide_has_the_folder_in_a_column(samples: Shell) -> None:
    samples.simple(1, cwd="/srv", age=0.1)
    first, *lines = samples.ok("list", COLUMNS="140").splitlines()
    assert {line.index("~/projects/shop") for line in lines} == {first.index("/srv")}


def test_a_long_folder_keeps_its_end(crowd: Shell) -> None:
    assert "folder/日本語" in crowd.ok("list", COLUMNS="140")
    assert "/srv/folder" not in crowd.ok("list", COLUMNS="140")


def test_a_pipe_gets_everything(crowd: Shell) -> None:
    text = crowd.ok("list")
    assert "…" not in text
    assert LONG[:200].strip() in text
    assert "/srv/folder" in text


def test_columns_of_turns_are_aligned(samples: Shell) -> None:
    lines = samples.ok("turns", API, "--all", COLUMNS="140").splitlines()
    turns = [line for line in lines if " ago " in line]
    assert len(turns) == 5
    for word in ("1 file", "h ago"):
        assert len({line.index(word) for line in turns}) == 1
    prompts = ("Add rate", "Keep the", "Start a", "Document", "Forget")
    starts = {line.index(p) for line, p in zip(turns, prompts, strict=True)}
    assert len(starts) == 1


@pytest.mark.parametrize("columns_", ["0", "-5", "wide", "", "²"])
def test_a_senseless_width_is_no_width(samples: Shell, columns_: str) -> None:
    assert samples.ok("list", COLUMNS=columns_) == samples.ok("list")
