"""Whatever was said, in whatever order it was written down, a converted session has it."""

import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from prong.agents.convert import fenced
from prong.errors import UsageError
from prong.model.sessions import Message, Role, Tool, View
from tests.property.claude_sessions import texts
from tests.property.damage import examples
from tests.unit.agents.conversions import AGENTS, Converted, convert

agents = st.sampled_from(AGENTS)
ROLES: list[Role] = ["user", "user", "assistant", "assistant", "thinking", "summary"]
times = st.none() | st.datetimes(timezones=st.just(UTC))
ids = st.sampled_from(["", "a", "b"])


@st.composite
def tool_messages(draw: st.DrawFn) -> Message:
    turn = draw(st.none() | st.integers(1, 4))
    time = draw(times)
    if draw(st.booleans()):
        tool = Tool(draw(ids), draw(texts), draw(texts), gist=draw(texts | st.just("")))
        return Message("assistant", "", turn, tool, time)
    code = draw(st.none() | st.integers(0, 255))
    return Message("tool", "", turn, Tool(draw(ids), "", output=draw(texts), exit_code=code), time)


@st.composite
def spoken_messages(draw: st.DrawFn) -> Message:
    text = draw(texts | st.text(max_size=5) | st.just("[Request interrupted by user]"))
    return Message(
        draw(st.sampled_from(ROLES)), text, draw(st.none() | st.integers(1, 4)), None, draw(times)
    )


@st.composite
def conversations(draw: st.DrawFn) -> list[tuple[str, list[Message]]]:
    """Turns as an agent's store tells them: each prompt, and what followed it."""
    turns: list[tuple[str, list[Message]]] = []
    for number in range(1, draw(st.integers(1, 6)) + 1):
        prompt = draw(texts)
        after = draw(st.lists(st.one_of(spoken_messages(), tool_messages()), max_size=5))
        numbered = [
            Message(m.role, m.text, number, m.tool, None) for m in after if m.role != "user"
        ]
        time = datetime(2026, 11, 1, 12, number, tzinfo=UTC)
        turns.append((prompt, [Message("user", prompt, number, None, time), *numbered]))
    return turns


def converted(messages: Iterable[Message], agent: str, folder: str) -> Converted:
    return convert(messages, agent, Path(folder) / "root")


def in_order(wanted: Iterable[str], text: str) -> bool:
    at = 0
    for part in wanted:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True


@given(st.lists(st.one_of(spoken_messages(), tool_messages()), max_size=12), agents)
@examples(150)
def test_any_list_of_messages(messages: list[Message], agent: str) -> None:
    spoken = [m for m in messages if m.text.strip() and m.role != "thinking"]
    shown = spoken or [m for m in messages if m.tool]
    with tempfile.TemporaryDirectory() as folder:
        try:
            made = converted(messages, agent, folder)
        except UsageError:
            assert not shown
            return
        said = made.said()
        assert made.session.turn_count == len(made.conversation.turns)
    assert said[0][0] == "user"
    for side, wanted in (("user", ("user", "summary")), ("assistant", ("assistant",))):
        whole = "\n".join(text for role, text in said if role == side)
        assert in_order((m.text for m in spoken if m.role in wanted), whole)


@given(conversations(), agents)
@examples(100)
def test_the_prompts_are_the_prompts(turns: list[tuple[str, list[Message]]], agent: str) -> None:
    messages = [message for _, said in turns for message in said]
    with tempfile.TemporaryDirectory() as folder:
        made = converted(messages, agent, folder)
        assert made.prompts == [prompt.strip() for prompt, _ in turns]
        assert [turn.index for turn in made.conversation.turns] == list(range(1, len(turns) + 1))


@given(conversations())
@examples(60)
def test_there_and_back_nothing_more_is_lost(turns: list[tuple[str, list[Message]]]) -> None:
    messages = [message for _, said in turns for message in said]
    with tempfile.TemporaryDirectory() as folder:
        there = converted(messages, "codex", f"{folder}/there")
        back = converted(there.store.messages(there.session), "claude", f"{folder}/back")
        assert back.prompts == there.prompts == [prompt.strip() for prompt, _ in turns]
        answers = [
            [text for role, text in made.said(View.HISTORY) if role == "assistant"]
            for made in (there, back)
        ]
        assert answers[0] == answers[1]


@given(st.text("`\n a", max_size=40))
def test_nothing_inside_closes_a_fence(text: str) -> None:
    first, *inside, last = fenced(text).split("\n")
    assert first == last
    assert set(first) == {"`"}
    assert not any(line.strip().startswith(first) for line in inside)
