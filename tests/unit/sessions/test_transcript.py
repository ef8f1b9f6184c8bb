"""Tool calls and their results, brought together."""

from prong.model.sessions import Message, Tool
from prong.session.transcript import paired


def call(id_: str, turn: int = 1) -> Message:
    return Message("assistant", "", turn, Tool(id_, "Bash", "{}"))


def result(id_: str, output: str = "out", turn: int = 1) -> Message:
    return Message("tool", "", turn, Tool(id_, "", output=output, failed=True, exit_code=3))


def said(text: str, turn: int = 1) -> Message:
    return Message("assistant", text, turn)


def shape(*messages: Message) -> list[str]:
    return [f"{m.tool.id}={m.tool.output}" if m.tool else m.text for m in paired(iter(messages))]


def test_a_call_has_its_result_and_stands_where_it_was_made() -> None:
    assert shape(said("a"), call("1"), said("b"), result("1")) == ["a", "1=out", "b"]
    [message] = paired([call("1"), result("1")])
    assert message.role == "tool"
    assert message.tool == Tool("1", "Bash", "{}", "out", failed=True, exit_code=3)


def test_parallel_calls() -> None:
    assert shape(call("1"), call("2"), result("2", "two"), result("1", "one")) == [
        "1=one",
        "2=two",
    ]


def test_a_call_without_a_result() -> None:
    assert shape(call("1"), said("b")) == ["1=None", "b"]


def test_a_result_without_a_call() -> None:
    assert shape(result("1"), said("b")) == ["1=out", "b"]


def test_an_id_that_comes_again_in_another_turn_is_another_call() -> None:
    assert shape(call("1"), call("1", 2), result("1", "two", 2)) == ["1=None", "1=two"]


def test_nothing() -> None:
    assert shape() == []


def test_messages_come_as_soon_as_their_turn_is_over() -> None:
    def messages() -> object:
        yield said("a", 1)
        yield said("b", 2)
        raise AssertionError("asked for too much")

    assert next(iter(paired(messages()))).text == "a"  # type: ignore[arg-type]
