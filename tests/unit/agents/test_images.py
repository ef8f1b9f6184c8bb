"""Images and documents of a session, and what becomes of them in a session of the other agent."""

from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from prong.agents.base import ForkSource
from prong.model.forks import Cut
from prong.model.sessions import Media, Message, View
from tests.unit.agents.conversions import call, convert, message, result
from tests.unit.agents.stores import START, Claude, Codex, uuid

ID = uuid(1)
PNG, JPEG = "UE5H", "SlBFRw=="
PNG_URL = f"data:image/png;base64,{PNG}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


def block(data: str = PNG, type_: str = "image/png") -> dict[str, Any]:
    source = {"type": "base64", "media_type": type_, "data": data}
    return {"type": "image", "source": source}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@contextmanager
def opened(sessions: Claude | Codex) -> Generator[tuple[ForkSource, list[Message]]]:
    """The source of a session, and all that a fork of it would have."""
    with closing(sessions.store.source(sessions.session(ID))) as source:
        cut = Cut(source.conversation.turns[-1].id, full=True)
        yield source, list(source.messages(cut))


def contents(messages: list[Message]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    return [(m.role, m.text, [(media.type, media.read()) for media in m.media]) for m in messages]


# -- reading ------------------------------------------------------------------------------------


def test_claude_prompts_results_and_queued_prompts(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("see")
    sample.lines[-1]["message"]["content"] = [text("see"), block(), text("and"), block(JPEG)]
    output: Any = [text("two"), block(), block(JPEG, "image/jpeg")]
    sample.tools(("Read", {}, output))
    sample.chain(
        "attachment",
        attachment={"type": "queued_command", "prompt": [text("also"), block()]},
    )
    sample.answer("seen")
    claude.write(ID, sample.lines)
    with opened(claude) as (_, found):
        assert contents(found) == [
            ("user", "see", []),
            ("user", "[image]", [("image/png", PNG)]),
            ("user", "and", []),
            ("user", "[image]", [("image/png", JPEG)]),
            ("assistant", "", []),
            ("tool", "", [("image/png", PNG), ("image/jpeg", JPEG)]),
            ("user", "also", []),
            ("user", "[image]", [("image/png", PNG)]),
            ("assistant", "seen", []),
        ]
    assert all(m.media == () for m in claude.store.messages(claude.session(ID)))


@pytest.mark.parametrize(
    ("given", "noun", "portable"),
    [
        (block(), "image", True),
        (block(type_="image/webp"), "image", True),
        (block(type_="image/bmp"), "image", False),
        (block(""), "image", False),
        (block("A" * ((5 << 20) + 1)), "image", False),
        ({"type": "image"}, "image", False),
        ({"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}, "image", False),
        ({"type": "document", "source": {"type": "url", "url": "https://x"}}, "document", False),
        ({**block(type_="application/pdf"), "type": "document"}, "document", False),
    ],
)
def test_which_of_them_another_agent_takes(
    claude: Claude, given: dict[str, Any], noun: str, *, portable: bool
) -> None:
    sample = claude.new()
    sample.prompt("see")
    sample.lines[-1]["message"]["content"] = [text("see"), given]
    claude.write(ID, sample.lines)
    with opened(claude) as (_, found):
        (media,) = found[-1].media
        assert (media.noun, media.is_portable) == (noun, portable)


def codex_prompt(codex: Codex, content: list[Any], shown: list[Any]) -> None:
    sample = codex.new()
    sample.turn("prompt", "answer")
    lines = sample.lines
    item, event = (
        next(n for n, line in enumerate(lines) if word in str(line["payload"]))
        for word in ("input_text", "UserMessage")
    )
    lines[item]["payload"]["content"] = content
    lines[event]["payload"]["item"]["content"] = shown
    codex.write(ID, lines)


def test_codex_takes_the_image_from_the_item_that_the_model_got(codex: Codex) -> None:
    """The event may have no more than the path of a file, which may be gone."""
    codex_prompt(
        codex,
        [
            {"type": "input_text", "text": '<image name=[Image #1] path="/x/y.png">'},
            {"type": "input_image", "image_url": PNG_URL, "detail": "high"},
            {"type": "input_text", "text": "</image>"},
            {"type": "input_text", "text": "look"},
        ],
        [{"type": "local_image", "path": "/x/y.png"}, {"type": "text", "text": "look"}],
    )
    with opened(codex) as (_, found):
        assert contents(found) == [
            ("user", "[image]", [("image/png", PNG)]),
            ("user", "look", []),
            ("assistant", "answer", []),
        ]
    assert codex.prompts(ID) == ["[image]\nlook"]
    assert codex.said(ID)[0] == ("user", "[image]\nlook")


def test_codex_has_a_link_only(codex: Codex) -> None:
    image = {"type": "input_image", "image_url": "https://example.org/x.png"}
    codex_prompt(codex, [image], [{"type": "image", "image_url": "https://example.org/x.png"}])
    with opened(codex) as (_, found):
        assert [media.is_portable for media in found[0].media] == [False]


def test_codex_tools_return_images(codex: Codex) -> None:
    sample = codex.new()
    sample.turn("look", "seen", commands=[("shot", 0)])
    output = next(line for line in sample.lines if "function_call_output" in str(line["payload"]))
    output["payload"]["output"] = [
        {"type": "input_text", "text": "here"},
        {"type": "input_image", "image_url": PNG_URL},
    ]
    codex.write(ID, sample.lines)
    with opened(codex) as (_, found):
        (shot,) = [m for m in found if m.role == "tool"]
        assert shot.tool
        assert shot.tool.output == "here\n[image]"
        assert [media.read() for media in shot.media] == [PNG]


def test_the_prompts_of_bare_files_have_images_too(codex: Codex) -> None:
    header = {"id": ID, "timestamp": "2025-09-01T10:00:00.000Z"}
    content = [
        {"type": "input_text", "text": "look"},
        {"type": "input_image", "image_url": PNG_URL},
    ]
    items = [
        {"type": "message", "role": "user", "content": content},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "more"}]},
    ]
    codex.write(ID, [header, *items])
    with opened(codex) as (_, found):
        assert contents(found) == [
            ("user", "look", []),
            ("user", "[image]", [("image/png", PNG)]),
            ("assistant", "a", []),
            ("user", "more", []),
        ]


# -- writing ------------------------------------------------------------------------------------


def image(data: str = PNG, type_: str = "image/png") -> Media:
    return Media(type_, len(data), lambda: data)


def shown(data: str = PNG, type_: str = "image/png", turn: int = 1) -> Message:
    return Message("user", "[image]", turn, None, START, (image(data, type_),))


def said(words: str) -> Message:
    return message("user", words, 1, 0)


ANSWER = message("assistant", "answer", 1, 5)


def test_a_prompt_for_claude(root: Path) -> None:
    made = convert([said("see"), shown(), said("and"), shown(JPEG), ANSWER], "claude", root)
    assert made.prompts == ["see\n[image]\nand\n[image]"]
    assert made.lines[0]["message"]["content"] == [
        text("see"),
        block(),
        text("and"),
        block(JPEG),
    ]


def test_a_prompt_for_codex(root: Path) -> None:
    made = convert([said("see"), said("this"), shown(), ANSWER], "codex", root)
    assert made.prompts == ["see\nthis\n[image]"]
    item, event = (line["payload"] for line in made.lines[2:4])
    assert item["content"] == [
        {"type": "input_text", "text": "see\nthis"},
        {"type": "input_image", "image_url": PNG_URL, "detail": "high"},
    ]
    assert event["item"]["content"] == [
        {"type": "text", "text": "see\nthis", "text_elements": []},
        {"type": "image", "image_url": PNG_URL},
    ]


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_what_the_other_agent_does_not_take_is_named_in_its_place(agent: str, root: Path) -> None:
    made = convert([said("see"), shown(type_="image/bmp"), ANSWER], agent, root)
    assert made.prompts == ["see\n[image]"]
    assert "base64" not in made.session.path.read_text()


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_an_image_that_a_tool_returned_follows_the_call(agent: str, root: Path) -> None:
    returned = result("1", "[image]")
    returned = Message("tool", "", 1, returned.tool, None, (image(), image(type_="image/bmp")))
    messages = [said("look"), call("1", "Shot", {}), returned, ANSWER, said("again")]
    made = convert(messages, agent, root)
    assert made.prompts == ["look"]
    source = "codex" if agent == "claude" else "claude"
    assert [(role, words.split("\n")[0]) for role, words in made.said(View.CONTEXT)] == [
        ("user", "look"),
        ("assistant", f"[{source} ran Shot]"),
        ("user", f"[The output of Shot that {source} ran]"),
        ("user", "[image]"),
        ("assistant", "answer"),
        ("user", "again"),
    ]
    # And it is still there for a fork of the fork.
    with closing(made.store.source(made.session)) as fork:
        cut = Cut(made.conversation.turns[-1].id, full=True)
        found = [media.read() for m in fork.messages(cut) for media in m.media]
    assert found == [PNG]


def test_codex_is_told_how_full_its_context_is(root: Path) -> None:
    made = convert([said("é" * 500), shown(), message("assistant", "x" * 600, 1, 5)], "codex", root)
    counts = [line["payload"] for line in made.lines if line["payload"].get("info")]
    (used,) = [count["info"]["last_token_usage"]["total_tokens"] for count in counts]
    assert used == (1000 + 7400 + 600) // 4
    assert made.conversation.turns[-1].tokens == used
