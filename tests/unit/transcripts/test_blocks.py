"""Messages as blocks: calls with their results, texts that a program can take."""

import pytest

from prong.model.sessions import Message, Tool
from prong.transcripts.blocks import Block, clean, collect


def call(id_: str, turn: int | None = 1, name: str = "Bash") -> Message:
    return Message("assistant", "", turn, Tool(id_, name, "{}", gist="what"))


def result(id_: str, output: str = "out", turn: int | None = 1) -> Message:
    return Message("tool", "", turn, Tool(id_, "", output=output, failed=True, exit_code=3))


def done(output: str = "out", turn: int | None = 1, name: str = "Bash", given: str = "{}") -> Block:
    return Block("tool", "", turn, Tool("", name, given, output, failed=True, exit_code=3))


def test_a_call_and_its_result_are_one_block_where_the_call_was_made() -> None:
    assert collect([call("1"), Message("assistant", "a", 1), result("1")]) == [
        done(),
        Block("assistant", "a", 1),
    ]


def test_parallel_calls() -> None:
    messages = [call("1"), call("2"), result("2", "two"), result("1", "one")]
    assert collect(messages) == [done("one"), done("two")]


def test_the_result_never_came() -> None:
    assert collect([call("1")]) == [Block("tool", "", 1, Tool("", "Bash", "{}"))]


def test_the_call_was_lost() -> None:
    assert collect([result("1")]) == [done(name="", given="")]


def test_an_id_that_comes_again_is_another_call() -> None:
    messages = [call("1"), result("1", "a"), call("1"), result("1", "b"), call("1", 2)]
    assert [b.tool and b.tool.output for b in collect(messages)] == ["a", "b", None]
    # A result belongs to a call of its own turn.
    assert [b.turn for b in collect([call("1"), result("1", turn=2)])] == [1, 2]


def test_a_second_result_is_not_lost() -> None:
    assert collect([call("1"), result("1", "a"), result("1", "b")]) == [
        done("a"),
        done("b", name="", given=""),
    ]


def test_what_is_already_paired() -> None:
    paired = Message("tool", "", 1, Tool("1", "Bash", "{}", "out", failed=True, exit_code=3))
    assert collect([paired, paired]) == [done(), done()]


def test_a_tool_message_of_text_only_is_an_output() -> None:
    assert collect([Message("tool", "out", 1)]) == [
        Block("tool", "", 1, Tool("", "", output="out"))
    ]


def test_a_text_beside_a_call_is_what_the_assistant_said() -> None:
    message = Message("assistant", "let me see", 1, Tool("1", "Read", "{}"))
    assert [block.role for block in collect([message])] == ["assistant", "tool"]


def test_a_message_without_a_turn_belongs_to_the_turn_before() -> None:
    messages = [
        Message("summary", "s"),
        Message("user", "a", 3),
        call("1", None),
        result("1", turn=3),
    ]
    assert collect(messages) == [Block("summary", "s"), Block("user", "a", 3), done(turn=3)]


def test_thoughts_are_left_out_and_so_is_what_says_nothing() -> None:
    messages = [
        Message("thinking", "hm", 1),
        Message("assistant", " \n", 1),
        Message("user", "a", 1),
    ]
    assert [block.role for block in collect(messages)] == ["user"]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("a\r\nb\n\tc", "a\nb\n\tc"),
        ("10%\r20%", "10%␍20%"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("a\x00b\x7f", "a␀b␡"),
        ("\x85\x9b", "��"),
        ("x\ud83dy\ude00", "x�y�"),
        ("\ud83d\ude00\ud83d", "😀�"),
        ("\u2028\u2029\u200d\ufeff\U0010ffff", "\u2028\u2029\u200d\ufeff\U0010ffff"),
    ],
)
def test_control_characters_are_made_visible_and_the_rest_stays(raw: str, expected: str) -> None:
    assert clean(raw) == expected
    assert clean(expected) == expected
