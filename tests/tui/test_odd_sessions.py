"""Titles and ids that nobody thinks of: they are shown, and obeyed by nothing."""

import json
from typing import Any

import pytest

from prong.app import App
from prong.tui.widgets.rows import Rows
from tests.cli.shell import API, Shell
from tests.tui.driving import Person, drive

pytestmark = pytest.mark.usefixtures("no_index")

ID = "4a960d0d-0000-4000-8000-00000000000{}"
LEFT, ON = "\x1b[31mA\x07B", "\x1b]0;owned\x07"
"""Ids with what a terminal would take for a colour, a bell and a title."""


def said(role: str, uuid: str, parent: str | None, text: str, second: int = 0) -> dict[str, Any]:
    content: Any = text if role == "user" else [{"type": "text", "text": text}]
    return {
        "type": role,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": API,
        "cwd": "/home/ada/shop",
        "timestamp": f"2026-11-01T10:00:0{second}Z",
        "isSidechain": False,
        "message": {"role": role, "id": f"m{second}", "content": content},
    }


def write(shell: Shell, *lines: dict[str, Any]) -> None:
    folder = shell.home.claude / "projects" / "-shop"
    folder.mkdir(parents=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / f"{API}.jsonl").write_text(text)
    with App() as app:
        app.search.index(vectors=False)


@pytest.mark.parametrize(
    "text", ["Fix  the bug", "Fix\xa0 the\u3000bug", "Fix \u2003the bug", "Fix the    bug\t"]
)
def test_a_title_with_other_spaces(shell: Shell, text: str) -> None:
    write(shell, said("user", ID.format(1), None, text))

    async def story(person: Person) -> None:
        await person.sees("1 session", "Fix the bug")
        await person.type("bug")
        await person.sees("1 turn in 1 session", "Fix the bug")

    drive(story)


def test_ids_are_obeyed_by_nothing(shell: Shell) -> None:
    write(
        shell,
        said("user", ID.format(1), None, "hello zebra"),
        said("assistant", ID.format(2), ID.format(1), "hi", 1),
        said("user", LEFT, ID.format(2), "left zebra behind", 2),
        said("assistant", ID.format(4), LEFT, "ok", 3),
        said("user", ON, ID.format(2), "went on, zebra", 4),
        said("assistant", ID.format(6), ON, "ok", 5),
    )

    def assert_harmless(person: Person) -> None:
        assert not {"\x1b", "\x07"} & set(person.screen)

    async def story(person: Person) -> None:
        await person.type("zebra")
        await person.sees("3 turns in 1 session")
        person.ui.screen.query_one("#found", Rows).focus()
        for _ in range(3):
            await person.sees("── turn")
            assert_harmless(person)
            await person.press("y")
            await person.sees("copied")
            assert_harmless(person)
            await person.press("down")
        await person.press("d")
        await person.sees("Diff")
        assert_harmless(person)

    drive(story)


def test_too_little_memory_for_a_session_is_said(
    samples: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The screen stays, and other sessions are shown."""
    sample = samples.session(7, age=0)  # before the samples, which are an hour old
    sample.prompt("Large and heavy")
    sample.answer("x" * (2 << 20))
    sample.write(samples.home.claude)
    with App() as app:
        app.search.index(vectors=False)

    def refuse(size: int) -> None:
        raise MemoryError(size)

    monkeypatch.setattr("prong.agents.jsonl._make_sure_of", refuse)

    async def story(person: Person) -> None:
        await person.sees("Large and heavy", "Rate limiting with", "not enough memory")
        assert "bug" not in person.screen
        await person.press("down")
        await person.sees("instead of the token bucket")

    drive(story)
