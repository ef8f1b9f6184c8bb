"""Exports of sessions: ours, and those of the converters that were there before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prong.search.qmd.exported import (
    ExportedTurn,
    ExportHeader,
    header_in,
    id_in_name,
    readable,
    turn_at,
)

ID = "60309e1e-c4ea-4d6d-8da1-21732781ce4d"


@pytest.mark.parametrize(
    "line",
    [
        f"Session ID: {ID}",
        f"**Session ID**: {ID}",
        f"**Session ID:** {ID}",
        f"- Session ID: {ID}",
        f"- **Session ID:** `{ID}`",
        f"* *Session ID*: {ID}  ",
        f"## Session ID: {ID}",
        f"> Session ID: {ID}\r",
        f"| Session ID | {ID} |",
        f"session_id: {ID}",
        f'session-id: "{ID}"',
        f"SessionID: {ID.upper()}",
    ],
)
def test_a_session_id_in_all_its_forms(line: str) -> None:
    assert header_in(f"# A title\n\n{line}\n\n## 1\n").session_id == ID


def test_a_whole_header() -> None:
    text = (
        f"# Limits\n\n**Session ID:** {ID}\n**Working Directory:** /home/me/a b_c_\n"
        "**Date:** 2026-01-07T00:11:47.756Z\n**Agent:** Claude\n**Repo:** x\n\n---\n\nhello\n"
    )
    assert header_in(text) == ExportHeader(
        ID, "claude", "/home/me/a b_c_", "2026-01-07T00:11:47.756Z"
    )


def test_an_agent_by_another_name_is_not_known() -> None:
    assert header_in("Agent: Claude Code\nDate: today\n") == ExportHeader(date="today")


def test_the_first_of_two_counts() -> None:
    assert header_in(f"Session ID: {ID}\nSession ID: other\n").session_id == ID


def test_the_conversation_is_no_header() -> None:
    text = f"# T\n\nDate: today\n\n## Turn 1\n\nSession ID: {ID}\n"
    assert header_in(text) == ExportHeader(date="today")


def test_far_below_is_no_header() -> None:
    assert header_in("word\n" * 100 + f"Session ID: {ID}\n") == ExportHeader()


@pytest.mark.parametrize(
    "line", ["Session ID:", "Session ID: two words", "Session ID: ../x", "The Session ID: 3"]
)
def test_no_id(line: str) -> None:
    assert header_in(line).session_id is None


@pytest.mark.parametrize(
    ("path", "id_"),
    [
        (f"private-tmp/{ID}.md", ID),
        (f"rollout-2026-01-07T00-11-47-{ID.upper()}.md", ID),
        (f"{ID}-to-70309e1e-c4ea-4d6d-8da1-21732781ce4d.md", "70309e1e" + ID[8:]),
        (f"{ID}/notes.md", None),
        ("notes.md", None),
        ("", None),
    ],
)
def test_ids_in_names(path: str, id_: str | None) -> None:
    assert id_in_name(path) == id_


@given(st.text(max_size=300))
def test_any_text_has_a_header_or_none(text: str) -> None:
    header = header_in(text)
    assert all(value is None or value.strip() == value for value in header)


EXPORT = """# Limits

Session ID: x

## Turn 1: Add limits

Time: 2026-01-07T00:11:47.756Z

**Prompt**

> Add limits
> ## Turn 7

## Turn 12

Time: 2026-01-07T00:20:00.000Z

- `Bash` `make test`

> It works.

## Turn 13

> Without a time.
"""
ONE = ExportedTurn(1, "2026-01-07T00:11:47.756Z")
TWELVE = ExportedTurn(12, "2026-01-07T00:20:00.000Z")


@pytest.mark.parametrize(
    ("line", "piece", "turn"),
    [
        (1, "# Limits", None),
        (3, "Session ID: x", None),
        (5, "## Turn 1: Add limits", ONE),
        (6, "", ONE),
        (12, "> ## Turn 7", ONE),
        (13, "", ONE),
        (14, "## Turn 12", TWELVE),
        (20, "> It works.", TWELVE),
        (20, "> It worked.", None),
        (21, "", TWELVE),
        (24, "> Without a time.", None),
        (26, "", None),
        (10**9, "", None),
    ],
)
def test_the_turn_of_a_line(line: int, piece: str, turn: ExportedTurn | None) -> None:
    assert turn_at(EXPORT, line, piece) == turn
    assert turn_at(EXPORT.replace("\n", "\r\n"), line, piece) == turn


def test_no_turn_where_there_are_no_headings() -> None:
    assert turn_at("Session ID: x\n\nhello\n", 3, "hello") is None


def test_a_piece_is_made_readable() -> None:
    assert readable(EXPORT) == (
        "Limits\nTurn 1: Add limits\nAdd limits\n## Turn 7\nTurn 12\n`Bash` `make test`\n"
        "It works.\nTurn 13\nWithout a time."
    )
    assert readable(">\n  > a > b - c\n#hashtag -x\n") == "a > b - c\n#hashtag -x"


@given(st.text(max_size=300), st.integers(1, 10), st.text(max_size=5))
def test_any_text_has_turns_or_none(text: str, line: int, piece: str) -> None:
    assert turn_at(text, line, piece) is None or "## Turn" in text
    assert "\n\n" not in readable(text)
