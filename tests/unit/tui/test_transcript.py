"""What was said, as lines."""

import json

from prong.model.sessions import Message, Tool
from prong.search.passages import highlighter
from prong.tui.content.transcript import TranscriptLines
from prong.tui.widgets.lines import marks_in, prose


def shown(message: Message, query: str = "", *, everything: bool = False) -> list[tuple[str, str]]:
    lines = TranscriptLines(highlighter(query), everything=everything).message(message)
    return [(one.style, one.text) for one in lines]


def tool(**given: object) -> Message:
    values = {"id": "1", "name": "Bash", "gist": "pytest -q", **given}
    return Message("tool", "", 1, Tool(**values))  # pyright: ignore[reportArgumentType]


def test_markdown() -> None:
    text = (
        "# Title\nsome `code`, **strong**\n- item\n```python\nx = 1\n```\n```diff\n+new\n-old\n```"
    )
    assert [one.style for one in prose(text)] == [
        *("heading", "", "", "dim", "code", "dim", "dim", "added", "removed", "dim")
    ]
    assert [mark.style for mark in marks_in("- a `b` **c**")] == ["name", "code", "bold"]


def test_a_fence_is_closed_by_its_own_sign_only() -> None:
    styles = [one.style for one in prose("~~~\n```\nx\n~~~\ny")]
    assert styles == ["dim", "code", "code", "dim", ""]


def test_a_long_output_is_shown_in_part() -> None:
    output = "\n".join(f"line {number}" for number in range(100))
    texts = [text for _, text in shown(tool(output=output))]
    assert texts[:3] == ["● Bash pytest -q", "  line 0", "  line 1"]
    assert "  … 96 lines" in texts
    assert len([text for _, text in shown(tool(output=output), everything=True)]) == 102


def test_what_matches_in_a_long_output_is_shown() -> None:
    output = "\n".join(f"line {number}" for number in range(100)) + "\nthe needle\nlast"
    texts = [text.strip() for _, text in shown(tool(output=output), "needle")]
    assert "the needle" in texts
    assert "line 99" in texts
    assert "line 50" not in texts


def test_an_edit_is_a_diff() -> None:
    given = json.dumps({"file_path": "/a.py", "old_string": "a\nb", "new_string": "c"})
    lines = shown(tool(name="Edit", gist="/a.py", input=given))
    assert ("removed", "  -a") in lines
    assert ("added", "  +c") in lines


def test_a_patch_of_codex_is_a_diff() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-old\n+new\n+\ttab\n*** End Patch"
    for given in (patch, json.dumps({"command": ["apply_patch", patch]})):
        lines = shown(tool(name="apply_patch", gist="a.py", input=given))
        assert ("added", "  +new") in lines
        assert ("removed", "  -old") in lines
        assert ("added", "  +   tab") in lines


def test_a_tool_that_failed() -> None:
    lines = list(TranscriptLines().message(tool(output="no", failed=True, exit_code=2)))
    assert lines[0].text == "● Bash pytest -q  failed (2)"
    assert lines[0].marks[0].style == "failed"


def test_nothing_is_obeyed_and_images_are_named() -> None:
    message = Message("user", "look: [image]\x1b[2J\r\nnext", 1)
    assert shown(message)[:2] == [("prompt", "> look: [image]␛[2J"), ("prompt", "  next")]


def test_signs_are_as_wide_as_they_are_counted() -> None:
    """What asks for a wide form is left out: terminals do not agree on it."""
    assert shown(Message("assistant", "\u26a0\ufe0f careful", 1))[0] == ("", "\u26a0 careful")


def test_a_summary_and_thoughts() -> None:
    assert "compacted" in shown(Message("summary", "in short", 1))[0][1]
    assert shown(Message("thinking", "hm", 1))[0] == ("dim", "hm")
    assert shown(Message("thinking", "", 1)) == []
