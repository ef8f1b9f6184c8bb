"""Exports of arbitrary conversations: every line is ours, or is seen not to be."""

import re
from datetime import UTC, datetime
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from prong.model.sessions import Message, Session, SessionRef, Tool
from prong.redaction.visible import visible
from prong.transcripts.markdown import document
from tests.property.damage import examples

EARLIER = "".join(
    document(
        Session(SessionRef("claude", "1"), "a", "title", "/x"),
        [Message("user", "hello", 1), Message("tool", "", 1, Tool("1", "Bash", "", "```\nx"))],
    )
)
OURS = re.compile(
    r"# .+|(?:Session ID|Working Directory|Date|Agent|Repo):(?: .*)?|## Turn \d+(?:: .*)?"
    r"|Time: 2026-01-07T00:00:00.000Z"
    r"|## Before the first turn|\*\*(?:Prompt|Answer|Result|Summary of what came before)\*\*"
    r"|- `.*|"
)
_hostile = st.sampled_from(
    [
        EARLIER,
        *EARLIER.split("\n"),
        *("```", "````\n", "~~~", "<!--", "<script>", "    code", "- item", "1. item", "---"),
        *("\n", "\n\n", "\r", "\r\n", "\x0b", "\x85", "\u2028", "\x1b[31m", "\x00", "\ud83d"),
        *("## Turn 9", "Time: 9", "Session ID: 2", "# title", "[a]: http://x", "`", "``", "> "),
    ]
)
_texts = st.lists(_hostile | st.text(st.characters(exclude_categories=())), max_size=6).map("".join)
_tools = st.builds(
    Tool,
    id=st.just(""),
    name=_texts,
    output=st.none() | _texts,
    failed=st.booleans(),
    exit_code=st.none() | st.integers(-300, 300),
    gist=_texts,
)
_said = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "summary", "thinking"]),
    _texts,
    st.none() | st.integers(1, 5),
    time=st.none() | st.just(datetime(2026, 1, 7, tzinfo=UTC)),
)
_done = st.builds(Message, st.just("tool"), st.just(""), st.none() | st.integers(1, 5), _tools)
_conversations = st.lists(_said | _done, max_size=8)


def page(messages: list[Message], title: str = "title", cwd: str = "/x") -> str:
    return "".join(document(Session(SessionRef("claude", "1"), "a", title, cwd), messages))


@examples(300)
@given(_conversations, _texts, _texts)
def test_every_line_at_the_margin_is_ours(messages: list[Message], title: str, cwd: str) -> None:
    text = page(messages, title, cwd)
    # By any idea of what a line is.
    for line in text.splitlines():
        if not line.startswith(("> ", "  ")) and line != ">":
            assert OURS.fullmatch(line), line
    turns = [int(n) for n in re.findall(r"^## Turn (\d+)", text, flags=re.MULTILINE)]
    wanted: list[int] = []
    for message in messages:
        if (
            message.turn is not None
            and message.role != "thinking"
            and [message.turn] != wanted[-1:]
        ):
            wanted.append(message.turn)
    assert turns == wanted
    assert len(re.findall(r"^# ", text, flags=re.MULTILINE)) == 1
    assert len(re.findall(r"^Session ID:", text, flags=re.MULTILINE)) == 1
    assert text.encode()


@examples(200)
@given(_conversations)
def test_an_empty_line_parts_what_is_quoted_from_what_is_ours(messages: list[Message]) -> None:
    """Else a paragraph that is quoted would go on in the next line of ours."""
    lines = page(messages).split("\n")
    for above, below in pairwise(lines):
        if above.startswith(">") and below:
            assert below.startswith(">")


@examples(200)
@given(_texts)
def test_what_was_said_is_all_there(text: str) -> None:
    quoted = re.findall(r"^>(?: (.*))?$", page([Message("assistant", text, 1)]), re.MULTILINE)
    assert quoted == [line.rstrip() for line in visible(text).strip("\n").split("\n")] or not quoted


@examples(200)
@given(_texts)
def test_a_fence_ends_where_it_should(text: str) -> None:
    written = page([Message("tool", "", 1, Tool("", "Bash", output=text))])
    lines = written.split("- `Bash`\n\n", 1)
    if len(lines) == 1 or not lines[1]:
        return
    block = [line.removeprefix("  ") for line in lines[1].split("\n")]
    fence = block[0]
    assert set(fence) == {"`"}
    closing = [
        n for n, line in enumerate(block[1:], 1) if re.fullmatch(f" {{0,3}}{fence}`* *", line)
    ]
    assert closing == [len(block) - 2]
