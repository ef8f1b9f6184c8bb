"""A seed that has to fit: what stays, what goes, and that it is said."""

import unicodedata

import pytest

from prong.errors import UsageError
from prong.model.forks import ForkPoint
from prong.model.sessions import Message, SessionRef, Tool
from prong.transcripts import seed
from prong.transcripts.blocks import Block
from tests import seed_reader

POINT = ForkPoint(SessionRef("claude", "60309e1e"), 30)


def turn(number: int, size: int = 400) -> list[Message]:
    return [
        Message("user", f"prompt {number}", number),
        Message("assistant", "", number, Tool(f"c{number}", "Bash", "{}")),
        Message("tool", "", number, Tool(f"c{number}", "", output="x" * size)),
        Message("assistant", f"answer {number}", number),
    ]


def conversation(count: int, size: int = 400) -> list[Message]:
    return [message for number in range(1, count + 1) for message in turn(number, size)]


def blocks_of(made: seed.Seed) -> tuple[Block, ...]:
    found = seed_reader.parse(made.text)
    assert found
    assert found.intact
    return found.blocks


def prompts(made: seed.Seed) -> list[str]:
    return [block.text for block in blocks_of(made) if block.role == "user"]


def output_of(made: seed.Seed) -> str:
    [block] = [block for block in blocks_of(made) if block.role == "tool"]
    assert block.tool
    assert block.tool.output is not None
    return block.tool.output


def test_nothing_is_left_out_of_what_fits() -> None:
    whole = seed.build(conversation(5), POINT)
    assert seed.build(conversation(5), POINT, limit_tokens=whole.tokens) == whole


def test_the_first_prompt_and_the_newest_turns_stay() -> None:
    made = seed.build(conversation(30), POINT, limit_tokens=2000)
    assert prompts(made) == ["prompt 1", *(f"prompt {n}" for n in range(19, 31))]
    assert made.left_out == "all of turn 1 but its prompt, turns 2-18 of 30"
    assert made.tokens <= 2000
    blocks = blocks_of(made)
    assert [block.role for block in blocks[:3]] == ["user", "note", "user"]
    assert blocks[1].text == f"Left out here, to make the transcript fit: {made.left_out}."
    newest = [block for block in blocks if block.turn == 30]
    assert newest == [*blocks_of(seed.build(turn(30), POINT))]


@pytest.mark.parametrize("limit", range(500, 4300, 37))
def test_as_many_turns_as_fit_whatever_the_limit(limit: int) -> None:
    made = seed.build(conversation(30), POINT, limit_tokens=limit)
    assert made.tokens <= limit
    kept = prompts(made)
    assert kept[0] == "prompt 1"
    assert kept[1:] == [f"prompt {n}" for n in range(32 - len(kept), 31)]
    # One more turn would have been too much: a turn takes about 150 tokens.
    assert made.tokens + 200 > limit


def test_one_turn_too_many() -> None:
    messages = [Message("user", "first", 1), *turn(2), *turn(3)]
    whole = seed.build(messages, POINT)
    made = seed.build(messages, POINT, limit_tokens=whole.tokens - 1)
    assert made.left_out == "turn 2 of 3"
    assert prompts(made) == ["first", "prompt 3"]


def test_only_the_answer_of_the_first_turn() -> None:
    messages = [*turn(1, 4000), *turn(2), *turn(3)]
    made = seed.build(messages, POINT, limit_tokens=900)
    assert made.left_out == "all of turn 1 but its prompt"
    assert prompts(made) == ["prompt 1", "prompt 2", "prompt 3"]


def test_a_summary_before_the_first_prompt_stays_with_it() -> None:
    messages = [Message("summary", "what was before"), *conversation(30)]
    made = seed.build(messages, POINT, limit_tokens=1000)
    assert [block.role for block in blocks_of(made)[:3]] == ["summary", "user", "note"]
    # The same when there is no prompt after it in its turn.
    compacted = [Message("summary", "so far", 4), Message("assistant", "ok", 4), *turn(5), *turn(6)]
    made = seed.build(compacted, POINT, limit_tokens=450)
    assert [block.role for block in blocks_of(made)[:3]] == ["summary", "note", "user"]
    assert made.left_out == "all of turn 4 but its prompt, turn 5 of 6"


def test_a_newest_turn_that_does_not_fit_loses_the_middle_of_its_outputs() -> None:
    output = "begin " + "x" * 100_000 + " end"
    messages = [
        *conversation(3),
        *turn(4),
        Message("tool", "", 4, Tool("long", "Read", "{}", output)),
    ]
    made = seed.build(messages, POINT, limit_tokens=1000)
    assert made.tokens <= 1000
    assert made.tokens > 990
    assert prompts(made) == ["prompt 1", "prompt 4"]
    assert made.left_out == (
        "all of turn 1 but its prompt, turns 2-3 of 4, the middle of long tool texts in turn 4"
    )
    short, long = [block.tool for block in blocks_of(made) if block.tool]
    assert short.output == "x" * 400
    assert long.output
    begin, remark, end = long.output.split("\n")
    assert begin.startswith("begin xx")
    assert end.endswith("xx end")
    left = int(remark.removeprefix("[... ").split(" ")[0].replace(",", ""))
    assert len(begin) + left + len(end) == len(output)


def test_a_single_turn_can_be_shortened_too_arguments_included() -> None:
    messages = [
        Message("user", "write it", 1),
        Message("tool", "", 1, Tool("1", "Write", "y" * 50_000, "x" * 60_000)),
    ]
    made = seed.build(messages, POINT, limit_tokens=2000)
    assert 1990 < made.tokens <= 2000
    assert made.left_out == "the middle of long tool texts in turn 1"
    unnumbered = [Message(m.role, m.text, None, m.tool) for m in messages]
    made = seed.build(unnumbered, POINT, limit_tokens=2000)
    assert made.left_out == "the middle of long tool texts in the only turn"


@pytest.mark.parametrize(
    "messages",
    [
        [Message("user", "x" * 10_000, 1), *turn(2)],
        [*turn(1), Message("user", "x" * 10_000, 2)],
        [Message("user", "x" * 10_000, 1)],
        [*turn(1), *(m for _ in range(50) for m in turn(2))],
    ],
    ids=["first prompt", "newest prompt", "only prompt", "many small outputs"],
)
def test_what_cannot_fit(messages: list[Message]) -> None:
    with pytest.raises(UsageError, match="first prompt") as caught:
        seed.build(messages, POINT, limit_tokens=1000)
    assert caught.value.hint


def test_no_room_at_all() -> None:
    for limit in (0, 1, 100):
        with pytest.raises(UsageError):
            seed.build([], POINT, limit_tokens=limit)
        with pytest.raises(UsageError):
            seed.build(conversation(2), POINT, limit_tokens=limit)


@pytest.mark.parametrize("limit", range(600, 620))
@pytest.mark.parametrize(
    "character", ["é", "漢", "😀", "e\u0301", "👩\u200d💻", "👍\U0001f3fd", "☎\ufe0f"], ids=ascii
)
def test_no_cut_inside_a_character(character: str, limit: int) -> None:
    output = character * (60_000 // len(character))
    messages = [Message("user", "a", 1), Message("tool", "", 1, Tool("1", "Read", "", output))]
    made = seed.build(messages, POINT, limit_tokens=limit)
    made.text.encode()
    begin, _, end = output_of(made).split("\n")
    assert begin
    for piece in (begin, end):
        assert len(piece) % len(character) == 0
        assert piece == character * (len(piece) // len(character))


def test_a_text_of_accents_only_does_not_stop_it() -> None:
    output = "\u0301" * 100_000
    assert unicodedata.combining(output[0])
    messages = [Message("user", "a", 1), Message("tool", "", 1, Tool("1", "Read", "", output))]
    assert seed.build(messages, POINT, limit_tokens=700).tokens <= 700


def test_half_a_megabyte_of_turns_with_every_kind_of_character() -> None:
    messages = [
        Message("user" if i % 2 else "assistant", f"{i} " + "é漢😀\u2028" * 200, 1 + i // 2)
        for i in range(700)
    ]
    whole = seed.build(messages, POINT)
    assert len(whole.text.encode()) > 1_000_000
    made = seed.build(messages, POINT, limit_tokens=100_000)
    assert 99_000 < made.tokens <= 100_000
    newest = blocks_of(made)[-1]
    assert newest.text == messages[-1].text


def test_one_output_of_thirty_megabytes() -> None:
    output = "début " + "données 漢字 " * 2_700_000 + " fin"
    messages = [
        *conversation(3),
        Message("user", "go", 4),
        Message("assistant", "", 4, Tool("1", "Read", "{}")),
        Message("tool", "", 4, Tool("1", "", output=output)),
    ]
    made = seed.build(messages, POINT, limit_tokens=10_000)
    assert 9_990 < made.tokens <= 10_000
    shortened = output_of(made)
    assert shortened.startswith("début ")
    assert shortened.endswith(" fin")
