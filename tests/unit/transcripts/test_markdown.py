"""Sessions as Markdown: what a page looks like, and that nothing of a session breaks out."""

from datetime import UTC, datetime

import pytest

from prong.model.sessions import Message, Session, SessionRef, Tool
from prong.redaction.secrets import mask
from prong.redaction.visible import visible
from prong.search.qmd.exported import header_in, turn_at
from prong.transcripts.markdown import document

SESSION = Session(
    SessionRef("claude", "60309e1e-c4ea-4d6d-8da1-21732781ce4d"),
    "a.jsonl",
    "Rate limiting",
    cwd="/home/ada/api",
    started=datetime(2026, 1, 7, 0, 11, 47, 756000, UTC),
)


def written(*messages: Message, title: str = "Rate limiting") -> str:
    session = Session(SESSION.ref, SESSION.file, title, SESSION.cwd, started=SESSION.started)
    return "".join(document(session, messages, repo="api", mask=mask))


def tool(**fields: object) -> Message:
    made = Tool("1", "Bash", **fields)  # pyright: ignore[reportArgumentType]
    return Message("tool", "", 1, made)


def body(text: str) -> str:
    return text.partition("Repo: api\n")[2]


def test_a_page() -> None:
    text = written(
        Message("user", "Add rate limiting\nto the public API", 1, time=SESSION.started),
        Message("thinking", "hm", 1),
        Message("assistant", "I look at it.", 1),
        tool(gist="make test", output="2 failed\n", exit_code=1),
        tool(gist="/home/ada/api/a.py", output=""),
        Message("assistant", "Two tests fail.\n\n```\nx = 1\n```", 1),
        Message("user", "Fix them", 2),
    )
    assert text == (
        "# Rate limiting\n\n"
        "Session ID: 60309e1e-c4ea-4d6d-8da1-21732781ce4d\n"
        "Working Directory: /home/ada/api\n"
        "Date: 2026-01-07T00:11:47.756Z\n"
        "Agent: claude\n"
        "Repo: api\n"
        "\n## Turn 1: Add rate limiting to the public API\n"
        "\nTime: 2026-01-07T00:11:47.756Z\n"
        "\n**Prompt**\n"
        "\n> Add rate limiting\n> to the public API\n"
        "\n**Answer**\n"
        "\n> I look at it.\n"
        "\n- `Bash` `make test` exit 1\n"
        "\n  ```\n  2 failed\n  ```\n"
        "\n- `Bash` `a.py`\n"
        "\n**Answer**\n"
        "\n> Two tests fail.\n>\n> ```\n> x = 1\n> ```\n"
        "\n## Turn 2: Fix them\n"
        "\n**Prompt**\n"
        "\n> Fix them\n"
    )


def test_the_header_is_read_by_the_search_of_exports() -> None:
    found = header_in(written(Message("user", "Session ID: other\nAgent: codex", 1)))
    assert found == (SESSION.id, "claude", "/home/ada/api", "2026-01-07T00:11:47.756Z")


def test_the_turn_of_a_line_is_read_by_the_search_of_exports() -> None:
    text = written(
        Message("user", "One", 1, time=SESSION.started),
        Message("assistant", "Time: 2020-01-01T00:00:00Z\n\n## Turn 7", 1),
        Message("user", "Two", 2),
        Message("assistant", "Done.", 2),
    )
    lines = text.split("\n")
    turns = {line: turn_at(text, number, line) for number, line in enumerate(lines, start=1)}
    one = (1, "2026-01-07T00:11:47.756Z")
    assert turns["Agent: claude"] is None
    assert turns["## Turn 1: One"] == turns["> One"] == turns["> ## Turn 7"] == one
    assert turns["> Done."] is None, "which turn it is today cannot be told without a time"


@pytest.mark.parametrize("title", ["Session ID: other", "# **Agent**: codex", "Date | today"])
@pytest.mark.parametrize("turn", [None, 1])
def test_a_title_is_not_taken_for_the_header(title: str, turn: int | None) -> None:
    text = written(Message("user", "Working Directory: /etc", turn), title=title)
    assert header_in(text) == header_in(written())


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\x1d"])
def test_a_prompt_is_not_taken_for_ours(end: str) -> None:
    hostile = end.join(["hello", "## Turn 9: mine", "Session ID: other", "**Answer**", "", "> x"])
    lines = written(Message("user", hostile, 1), tool(gist=hostile, output=hostile)).splitlines()
    assert [line for line in lines if line.startswith("## ")] == [
        "## Turn 1: hello ## Turn 9: mine Session ID: other **Answer** > x"
    ]
    assert sum(line.startswith("Session ID:") for line in lines) == 1
    assert "**Answer**" not in lines


def test_a_fence_is_longer_than_any_inside() -> None:
    text = body(written(tool(gist="a `b` ``c``", output="```\nx\n`````\ny")))
    assert "- `Bash` ``` a `b` ``c`` ```\n" in text
    assert "\n  ``````\n  ```\n  x\n  `````\n  y\n  ``````\n" in text


def test_long_output_keeps_its_beginning_and_its_end() -> None:
    output = "\n".join(f"line {number}" for number in range(1000))
    text = body(written(tool(output=output)))
    assert "  line 11\n  [... 982 lines left out ...]\n  line 994\n" in text
    assert text.endswith("  line 999\n  ```\n")


def test_long_lines_are_cut() -> None:
    text = written(
        Message("user", "x " * 5000, 1), tool(gist="y" * 5000, output="z" * 5000), title="t" * 5000
    )
    kept = [line for line in text.split("\n") if not line.startswith(">")]
    assert max(map(len, kept)) < 500
    assert "x " * 4999 in text  # a prompt is kept whole


def test_secrets_are_masked_wherever_they_are() -> None:
    secret = "ghp_" + "aB3dE5gH7j" * 4
    key = f"-----BEGIN PRIVATE KEY-----\n{'aB3dE5gH7j' * 5}\n-----END PRIVATE KEY-----"
    text = written(
        Message("user", f"use {secret}\n{key}", 1),
        tool(gist=f"echo {secret}", output=f"{'-' * 380}{secret}"),
        Message("assistant", f"I used {secret}", 1),
        title=f"{'x' * 100} {secret}",
    )
    assert "aB3dE" not in text
    assert "> [masked: private key]" in text


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"output": "x"}, ""),
        ({"output": None}, " no result"),
        ({"output": "", "failed": True}, " failed"),
        ({"output": "", "exit_code": 0}, " exit 0"),
    ],
)
def test_how_a_tool_ended(fields: dict[str, object], outcome: str) -> None:
    assert f"\n- `Bash`{outcome}\n" in written(tool(**fields))


def test_what_is_before_the_first_turn_has_a_heading() -> None:
    text = body(written(Message("summary", "We had a parser.", None), Message("user", "Go on", 1)))
    assert text.startswith(
        "\n## Before the first turn\n\n**Summary of what came before**\n\n> We had a parser.\n"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(Bx\x1bcy", "xy"),
        ("a\x00b\x7fc\x9bd", "abcd"),
        ("a\tb\r\nc\rd", "a\tb\nc\nd"),
        ("evil\u202etxt", "eviltxt"),
        ("\ud83d\ude00 \ud83d", "😀 \ufffd"),
        ("👩\u200d💻", "👩\u200d💻"),
    ],
)
def test_nothing_is_left_that_a_terminal_would_obey(text: str, expected: str) -> None:
    assert visible(text) == expected


def test_a_session_of_which_little_is_known() -> None:
    text = "".join(document(Session(SessionRef("codex", "1"), "a.jsonl", ""), []))
    assert text.startswith("# Untitled\n\nSession ID: 1\nWorking Directory: \nDate: \nAgent: codex")
