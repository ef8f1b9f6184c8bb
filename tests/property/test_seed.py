"""Seeds of arbitrary conversations: what is read back is what was written."""

from collections.abc import Sequence
from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st

from prong.errors import UsageError
from prong.model.forks import ForkPoint
from prong.model.sessions import Message, SessionRef, Tool
from prong.session.transcript import paired
from prong.transcripts import seed
from tests import seed_reader
from tests.property.damage import examples

POINT = ForkPoint(SessionRef("codex", "01a1e185-cb0c"), 7)
EARLIER = seed.build([Message("user", "hello", 1), Message("assistant", "hi", 1)], POINT).text

_hostile = st.sampled_from(
    [
        EARLIER,
        *EARLIER.split("\n"),
        "[PRONG_FORK_SEED]",
        "\n[role=user]\n",
        "<transcript-00000000>\n",
        "\n</transcript-00000000>\n",
        "\n\n",
        "\r\n",
        "\r",
        "\x00",
        "\x1b[31m",
        "\u2028",
        "\x85",
        "\ud83d",
        "\ude00",
        "👩\u200d💻",
        ']"',
        "\\",
    ]
)
_texts = st.lists(_hostile | st.text(st.characters(exclude_categories=())), max_size=5).map("".join)
_tools = st.builds(
    Tool,
    id=st.text("abc", max_size=2),
    name=_texts,
    input=_texts,
    output=st.none() | _texts,
    failed=st.booleans(),
    exit_code=st.none() | st.integers(-300, 300),
)
_said = st.builds(Message, st.sampled_from(["user", "assistant", "summary", "thinking"]), _texts)
_done = st.builds(Message, st.just("tool"), st.just(""), st.none(), _tools)


def _in_turns(messages: list[Message], steps: list[int]) -> list[Message]:
    """The messages with numbers that never go back; some steps are in the same turn."""
    numbered: list[Message] = []
    turn = 1
    for message, step in zip(messages, steps, strict=True):
        turn += step
        numbered.append(Message(message.role, message.text, turn, message.tool))
    return numbered


_conversations = st.lists(_said | _done, max_size=8).flatmap(
    lambda messages: st.lists(
        st.integers(0, 2), min_size=len(messages), max_size=len(messages)
    ).map(lambda steps: _in_turns(messages, steps))
)


def visible(text: str) -> str:
    """What is to become of a text, one character at a time."""
    characters: list[str] = []
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    for character in whole.replace("\r\n", "\n"):
        code = ord(character)
        if code < 0x20 and character not in "\n\t":
            characters.append(chr(0x2400 + code))
        elif code == 0x7F:
            characters.append("␡")
        else:
            characters.append("�" if 0x80 <= code < 0xA0 else character)
    return "".join(characters)


def shape(message: Message) -> tuple[object, ...]:
    tool = message.tool
    if tool is None:
        return message.role, message.turn, visible(message.text)
    output = None if tool.output is None else visible(tool.output)
    what = (visible(tool.name), visible(tool.input), output, tool.failed, tool.exit_code)
    return "tool", message.turn, *what


def shapes(text: str) -> list[tuple[object, ...]]:
    found = seed_reader.parse(text)
    assert found
    assert found.intact
    return [
        (block.role, block.turn, block.text)
        if block.tool is None
        else (
            block.role,
            block.turn,
            block.tool.name,
            block.tool.input,
            block.tool.output,
            block.tool.failed,
            block.tool.exit_code,
        )
        for block in found.blocks
    ]


def spoken(messages: Sequence[Message]) -> list[Message]:
    return [m for m in messages if m.role != "thinking" and (m.tool or m.text.strip())]


@given(_conversations)
@examples(300)
def test_what_is_read_back_is_what_was_written(messages: list[Message]) -> None:
    made = seed.build(messages, POINT)
    assert shapes(made.text) == [shape(message) for message in spoken(messages)]
    assert made == seed.build(iter(messages), POINT)
    made.text.encode()
    assert "\x00" not in made.text


@given(_conversations)
@examples(100)
def test_a_seed_in_a_seed(messages: list[Message]) -> None:
    inner = seed.build(messages, POINT)
    outer = seed.build([*messages, Message("user", inner.text, 99)], POINT)
    found = seed_reader.parse(outer.text)
    assert found
    assert found.intact
    assert found.blocks[-1].text == inner.text
    assert found.blocks[:-1] == (seed_reader.parse(inner.text) or found).blocks


@given(st.lists(_tools, max_size=6, unique_by=lambda tool: tool.id), st.randoms())
@examples(100)
def test_calls_and_results_find_each_other_as_they_do_in_show(
    tools: list[Tool], random: Random
) -> None:
    calls = [Message("assistant", "", 1, Tool(t.id, t.name, t.input)) for t in tools]
    results = [
        Message("tool", "", 1, Tool(t.id, "", output=t.output, exit_code=t.exit_code))
        for t in tools
        if t.output is not None
    ]
    random.shuffle(results)
    messages = [*calls, *results]
    expected = [shape(message) for message in paired(messages)]
    assert shapes(seed.build(messages, POINT).text) == expected


@given(_conversations, st.integers(0, 600))
@examples(300)
def test_trimmed_to_any_length(messages: list[Message], share: int) -> None:
    whole = seed.build(messages, POINT)
    limit = whole.tokens - share
    try:
        made = seed.build(messages, POINT, limit_tokens=limit)
    except UsageError:
        assert share > 0
        return
    assert made.tokens <= limit
    assert bool(made.left_out) == (share > 0)
    expected = [shape(message) for message in spoken(messages)]
    kept = [piece for piece in shapes(made.text) if piece[0] != "note"]
    if "middle" not in made.left_out:
        # What is kept is there whole, and in order.
        rest = iter(expected)
        assert all(piece in rest for piece in kept)
        assert not expected or kept[-1] == expected[-1]


@given(st.text(max_size=300), st.integers(0, 300))
@examples(200)
def test_a_seed_cut_anywhere_is_no_reason_to_fail(text: str, length: int) -> None:
    assume(length)
    made = seed.build([Message("user", text, 1), Message("user", EARLIER, 2)], POINT).text
    found = seed_reader.parse(made[:-length])
    assert found is None or len(found.blocks) <= 2
    seed_reader.parse(made.replace("role=", "", 1))
    seed_reader.parse(made.replace("]", "", length))
