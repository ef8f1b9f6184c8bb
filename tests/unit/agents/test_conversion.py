"""Sessions of one agent, written from what was said in a session of the other."""

from datetime import timedelta
from pathlib import Path
from uuid import RFC_4122, UUID

import pytest

from prong.agents.claude.folders import project_folder
from prong.agents.claude.fork import convert as conversion
from prong.agents.claude.store import ClaudeStore
from prong.agents.convert import NO_PROMPT
from prong.errors import Corrupt, Taken, UsageError
from prong.files.publication import Publication
from prong.model.forks import Child, ForkPoint
from prong.model.sessions import Message, SessionRef, View
from tests.unit.agents.conversions import (
    AGENTS,
    SOURCE,
    Converted,
    call,
    convert,
    message,
    other,
    result,
)
from tests.unit.agents.stores import CWD, START, Claude, Codex, uuid

TWO_TURNS = [
    message("user", "first", 1, 1),
    message("assistant", "one", 1, 2),
    message("user", "second", 2, 3),
    message("assistant", "two", 2, 4),
]


@pytest.fixture(params=AGENTS)
def agent(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


# -- turns -------------------------------------------------------------------------------------


def test_prompts_and_answers_keep_their_order(agent: str, root: Path) -> None:
    made = convert(TWO_TURNS, agent, root)
    said = [("user", "first"), ("assistant", "one"), ("user", "second"), ("assistant", "two")]
    assert made.prompts == ["first", "second"]
    assert made.states == ["finished", "finished"]
    assert made.said() == said
    assert made.said(View.HISTORY) == said


def test_thoughts_are_left_out_and_the_pieces_of_an_answer_put_together(
    agent: str, root: Path
) -> None:
    messages = [
        message("user", "ask", 1),
        message("thinking", "hm", 1),
        message("assistant", "one", 1),
        message("thinking", "hm", 1),
        message("assistant", "two", 1),
    ]
    made = convert(messages, agent, root)
    assert made.said() == [("user", "ask"), ("assistant", "one\n\ntwo")]


def test_a_prompt_without_an_answer_gets_none(agent: str, root: Path) -> None:
    messages = [message("user", "first", 1), *TWO_TURNS[2:], message("user", "last", 3)]
    made = convert(messages, agent, root)
    assert made.prompts == ["first", "second", "last"]
    assert made.states[-1] == "interrupted"
    assert [role for role, _ in made.said()] == ["user", "user", "assistant", "user"]


def test_an_interrupt_is_told_and_is_no_prompt(agent: str, root: Path) -> None:
    stopped = "[Request interrupted by user]"
    messages = [
        message("user", "first", 1),
        message("assistant", "half", 1),
        message("user", stopped, 1),
        *TWO_TURNS[2:],
    ]
    made = convert(messages, agent, root)
    assert made.prompts == ["first", "second"]
    assert made.states == ["interrupted", "finished"]
    assert made.conversation.turns[0].queued == ()
    assert made.said()[:3] == [("user", "first"), ("assistant", "half"), ("user", stopped)]


def test_what_was_typed_while_the_agent_was_busy_stays_in_its_turn(agent: str, root: Path) -> None:
    messages = [
        message("user", "first", 1),
        message("assistant", "busy", 1),
        message("user", "also this", 1),
        message("assistant", "done", 1),
        *TWO_TURNS[2:],
    ]
    made = convert(messages, agent, root)
    assert made.prompts == ["first", "second"]
    assert made.said(View.HISTORY)[:4] == [
        ("user", "first"),
        ("assistant", "busy"),
        ("user", "also this"),
        ("assistant", "done"),
    ]


def test_the_blocks_of_one_prompt_are_one_prompt(agent: str, root: Path) -> None:
    messages = [message("user", "look", 1, 1), message("user", "[image]", 1, 1), *TWO_TURNS[2:]]
    assert convert(messages, agent, root).prompts == ["look\n[image]", "second"]


def test_without_numbers_every_prompt_opens_a_turn(agent: str, root: Path) -> None:
    messages = [
        message("user", "first", None, 1),
        message("user", "second", None, 1),
        message("assistant", "both", None, 2),
        message("user", "third", None, 3),
    ]
    made = convert(messages, agent, root)
    assert made.prompts == ["first", "second", "third"]


def test_a_turn_of_an_abandoned_branch_has_no_number(agent: str, root: Path) -> None:
    messages = [*TWO_TURNS, message("user", "left"), message("assistant", "behind")]
    assert convert(messages, agent, root).prompts == ["first", "second", "left"]


def test_what_stands_before_the_first_prompt_is_told_and_is_no_turn(agent: str, root: Path) -> None:
    made = convert([message("user", "/clear"), *TWO_TURNS], agent, root)
    assert made.prompts == ["first", "second"]
    assert made.session.title == "first"
    assert made.said()[:2] == [("user", "/clear"), ("user", "first")]
    assert made.said(View.HISTORY)[0] == ("user", "first")


def test_an_answer_whose_prompt_is_lost_still_has_a_turn(agent: str, root: Path) -> None:
    made = convert([message("assistant", "one", 1), *TWO_TURNS[2:]], agent, root)
    assert made.prompts == [NO_PROMPT, "second"]
    assert made.said()[0][0] == "user"


def test_answers_without_any_prompt_can_be_written(agent: str, root: Path) -> None:
    messages = [message("summary", "so far"), message("user", "[Request interrupted by user]")]
    made = convert([*messages, result("t1", "done", None)], agent, root)
    assert made.session.turn_count == len(made.conversation.turns)
    assert made.said()[0][0] == "user"


# -- summaries ---------------------------------------------------------------------------------


LABEL = "[Summary of the conversation up to this point, written by {}]\n\nso far"


def test_a_summary_between_turns_says_what_it_is(agent: str, root: Path) -> None:
    messages = [*TWO_TURNS[:2], message("summary", "so far", 1), *TWO_TURNS[2:]]
    made = convert(messages, agent, root)
    assert made.prompts == ["first", "second"]
    assert made.states == ["finished", "finished"]
    assert made.said()[2] == ("user", LABEL.format(other(agent)))


def test_a_summary_and_nothing_else_is_one_turn(agent: str, root: Path) -> None:
    made = convert([message("summary", "so far")], agent, root)
    assert made.session.turn_count == 1
    assert made.said() == [("user", LABEL.format(other(agent)))]


def test_a_summary_of_what_is_gone_comes_first(agent: str, root: Path) -> None:
    """The prompt of its turn was summed up with the rest, and the answer was kept in words."""
    messages = [
        message("summary", "so far", 4),
        message("assistant", "kept", 3),
        message("user", "/compact", 4),
        message("user", "second", 5),
        message("assistant", "two", 5),
    ]
    made = convert(messages, agent, root)
    summary = LABEL.format(other(agent))
    # Claude Code has a place for summaries outside the turns, Codex has none.
    opened = [] if agent == "claude" else [summary]
    assert [text for text in made.prompts if text != "/compact"] == [*opened, "second"]
    assert made.said()[:2] == [("user", summary), ("assistant", "kept")]
    assert made.said()[-2:] == [("user", "second"), ("assistant", "two")]


def test_a_compaction_just_before_a_prompt(agent: str, root: Path) -> None:
    messages = [
        *TWO_TURNS[:2],
        message("assistant", "I sum up", 2),
        message("summary", "so far", 2),
        *TWO_TURNS[2:],
    ]
    assert convert(messages, agent, root).prompts == ["first", "second"]


# -- tools -------------------------------------------------------------------------------------


def answer(made: Converted) -> str:
    return next(text for role, text in made.said() if role == "assistant")


def test_a_tool_call_says_who_ran_what_and_what_came_of_it(agent: str, root: Path) -> None:
    given = {"command": "make", "timeout": 9}
    messages = [
        message("user", "ask", 1),
        message("assistant", "I build it.", 1),
        call("a", "Bash", given, gist="make"),
        result("a", "boom\n", failed=True, exit_code=2),
        message("assistant", "It failed.", 1),
    ]
    assert answer(convert(messages, agent, root)) == (
        "I build it.\n\n"
        f"[{other(agent)} ran Bash: make]\n"
        'Arguments:\n```\n{"command": "make", "timeout": 9}\n```\n'
        "Exit code 2, output:\n```\nboom\n```\n\n"
        "It failed."
    )


def test_results_go_with_their_calls(agent: str, root: Path) -> None:
    messages = [
        message("user", "ask", 1),
        call("a", "Read", {"path": "a"}, gist="a"),
        call("b", "Read", {"path": "b"}, gist="b"),
        result("b", "B"),
        result("a", "", failed=True),
    ]
    name = other(agent)
    assert answer(convert(messages, agent, root)) == (
        f"[{name} ran Read: a]\nFailed, no output.\n\n"
        f"[{name} ran Read: b]\nDone, output:\n```\nB\n```"
    )


def test_a_call_without_a_result_and_a_result_without_a_call(agent: str, root: Path) -> None:
    messages = [
        message("user", "ask", 1),
        result("lost", "found"),
        call("a", "Wait", {}),
    ]
    name = other(agent)
    assert answer(convert(messages, agent, root)) == (
        f"[{name} ran a tool]\nDone, output:\n```\nfound\n```\n\n"
        f"[{name} ran Wait]\nNo result was recorded."
    )


def test_two_calls_with_one_id_each_get_their_result(agent: str, root: Path) -> None:
    messages = [
        message("user", "ask", 1),
        call("", "One", {}),
        result("", "first"),
        call("", "Two", {}),
        result("", "second"),
    ]
    text = answer(convert(messages, agent, root))
    assert [text.index(word) for word in ("One", "first", "Two", "second")] == sorted(
        text.index(word) for word in ("One", "first", "Two", "second")
    )
    assert text.count("first") == text.count("second") == 1


def test_an_output_cannot_close_its_fence(agent: str, root: Path) -> None:
    output = "```\nout\n````\nof the fence"
    messages = [message("user", "ask", 1), call("a", "Cat", {}), result("a", output)]
    text = answer(convert(messages, agent, root))
    assert text.endswith(f"output:\n`````\n{output}\n`````")


def test_a_long_output_is_kept_whole(agent: str, root: Path) -> None:
    output = "line\n" * 200_000 + "end"
    messages = [message("user", "ask", 1), call("a", "Cat", {}), result("a", output)]
    assert output in answer(convert(messages, agent, root))


def test_arguments_of_many_lines_are_not_in_the_heading(agent: str, root: Path) -> None:
    patch = "*** Begin Patch\n*** End Patch"
    messages = [message("user", "ask", 1), call("a", "apply_patch", patch, gist=patch)]
    text = answer(convert(messages, agent, root))
    assert text.startswith(f"[{other(agent)} ran apply_patch]\nArguments:\n```\n{patch}\n```\n")


def test_the_output_of_a_command_of_the_person_has_no_tags(root: Path) -> None:
    """Claude Code keeps it as text of the person, after the command."""
    printed = "<bash-stdout>\x1b[2mhi\x1b[22m</bash-stdout><bash-stderr></bash-stderr>"
    silent = "<local-command-stdout></local-command-stdout>"
    messages = [
        message("user", "!echo hi", 1),
        message("user", printed, 1),
        message("user", silent, 1),
        message("user", f"what is {silent}", 2),
    ]
    assert convert(messages, "codex", root).said() == [
        ("user", "!echo hi"),
        ("user", "Output of the command:\n```\nhi\n```"),
        ("user", "The command had no output."),
        ("user", f"what is {silent}"),
    ]


# -- times -------------------------------------------------------------------------------------


def test_times_never_go_back_and_are_never_missing(agent: str, root: Path) -> None:
    messages = [
        message("user", "first", 1),
        message("assistant", "one", 1, 5),
        message("user", "second", 2, 3),
        message("assistant", "two", 2),
        message("user", "third", 3, 9),
    ]
    made = convert(messages, agent, root)
    times = [m.time for m in made.store.messages(made.session)]
    seconds = [5, 5, 5, 5, 9]
    assert times == [START + timedelta(seconds=second) for second in seconds]
    assert made.session.started == START + timedelta(seconds=5)
    assert made.session.updated == START + timedelta(seconds=9)


def test_messages_without_any_time(agent: str, root: Path) -> None:
    made = convert([message("user", "first", 1), message("assistant", "one", 1)], agent, root)
    assert made.session.started is not None
    assert made.session.started > START


# -- files -------------------------------------------------------------------------------------


def test_a_session_file_of_claude(root: Path) -> None:
    made = convert(TWO_TURNS, "claude", root, title="A better name")
    session = made.session
    assert session.path == root / "projects" / project_folder(CWD) / f"{session.id}.jsonl"
    assert session.path.stat().st_mode & 0o777 == 0o600
    assert (session.title, session.cwd, session.entrypoint) == ("A better name", CWD, "cli")
    *chain, title = made.lines
    assert title == {
        "type": "custom-title",
        "customTitle": "A better name",
        "sessionId": session.id,
    }
    assert [line["parentUuid"] for line in chain] == [None, *(line["uuid"] for line in chain[:-1])]
    for line in chain:
        assert line["forkedFrom"] == {
            "sessionId": SOURCE,
            "messageUuid": uuid(2),
            "agent": "codex",
            "turn": 2,
        }
    # The CLI would try to go on with the model of the last answer.
    assert session.model is None
    assert b'": ' not in session.path.read_bytes()


def test_a_rollout_of_codex(root: Path) -> None:
    made = convert(TWO_TURNS, "codex", root, title="A better name")
    session = made.session
    assert session.path.parents[3] == root / "sessions"
    assert session.path.name.endswith(f"-{session.id}.jsonl")
    assert session.path.stat().st_mode & 0o777 == 0o600
    assert (session.title, session.cwd, session.entrypoint) == ("A better name", CWD, "cli")
    assert [line["ordinal"] for line in made.lines] == list(range(len(made.lines)))
    header = made.lines[0]["payload"]
    assert header["id"] == header["session_id"] == session.id
    assert header["forked_from_id"] == SOURCE
    assert (header["forked_from_agent"], header["forked_from_turn"]) == ("claude", 2)
    assert (UUID(session.id).version, UUID(session.id).variant) == (7, RFC_4122)
    assert session.model is None


def test_a_source_whose_id_is_no_uuid(agent: str, root: Path) -> None:
    """An agent from a plug-in may have other ids; Codex would refuse the whole file."""
    made = convert(TWO_TURNS, agent, root, source="session 7")
    if agent == "codex":
        assert made.lines[0]["payload"]["forked_from_id"] is None
    assert made.prompts == ["first", "second"]


def test_the_id_can_be_chosen_once(agent: str, root: Path) -> None:
    assert convert(TWO_TURNS, agent, root, id_=uuid(7)).session.id == uuid(7)
    with pytest.raises(Taken):
        convert(TWO_TURNS, agent, root, id_=uuid(7), cwd=Path("/w/elsewhere"))


def test_half_a_character_does_not_stop_it(agent: str, root: Path) -> None:
    made = convert([message("user", "a \ud83d b", 1)], agent, root, title="\udc00", cwd=Path(CWD))
    assert made.prompts == ["a ? b"]


def files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


def test_an_id_must_be_a_uuid(agent: str, root: Path) -> None:
    with pytest.raises(UsageError, match="UUID"):
        convert(TWO_TURNS, agent, root, id_="../../etc")
    assert not files(root.parent)


@pytest.mark.parametrize("messages", [[], [message("thinking", "hm", 1), message("user", " ", 1)]])
def test_nothing_to_convert(messages: list[Message], agent: str, root: Path) -> None:
    with pytest.raises(UsageError, match="no messages"):
        convert(messages, agent, root)
    assert not files(root.parent)


def test_what_does_not_read_back_is_not_published(tmp_path: Path, root: Path) -> None:
    store = ClaudeStore([root])
    child = Child(None, Path(CWD), ForkPoint(SessionRef("codex", SOURCE), 1))

    def half(path: Path) -> None:
        assert store.session_at(path)

    with pytest.raises(Corrupt), Publication(tmp_path / "journal") as publication:
        conversion.convert(TWO_TURNS, child, root, publication, half)
    assert not files(tmp_path)


# -- there and back ----------------------------------------------------------------------------


def test_there_and_back(claude: Claude, tmp_path: Path) -> None:
    sample = claude.new()
    sample.prompt("Add a limit")
    sample.tools(("Bash", {"command": "make"}, "made"), ("Edit", {"file_path": "/w/a"}, "ok"))
    sample.answer("Done.")
    sample.prompt("Now test it")
    sample.answer("All green.")
    sample.write(claude.root)
    session = claude.session(sample.id)
    there = convert(claude.store.messages(session), "codex", tmp_path / "there", source=session.id)
    back = convert(
        there.store.messages(there.session), "claude", tmp_path / "back", source=there.session.id
    )
    assert back.prompts == claude.prompts(sample.id)
    assert back.said() == there.said()
    answers = [text for role, text in back.said() if role == "assistant"]
    assert answers[0].startswith("[claude ran Bash: make]\nExit code 0, output:\n```\nmade\n```\n")
    assert answers[0].endswith("\n\nDone.")
    assert answers[1:] == ["All green."]


def test_back_and_there(codex: Codex, tmp_path: Path) -> None:
    sample = codex.new()
    sample.turn("Write a parser", "Written.", commands=[("pytest -q", 1)], files=["/w/a.py"])
    sample.turn("Handle commas", "Handled.")
    sample.write(codex.root)
    session = codex.session(sample.id)
    there = convert(codex.store.messages(session), "claude", tmp_path / "there", source=session.id)
    back = convert(
        there.store.messages(there.session), "codex", tmp_path / "back", source=there.session.id
    )
    assert back.prompts == codex.prompts(sample.id)
    assert back.said() == there.said()
    assert "[codex ran exec_command: pytest -q]\nExit code 1, output:" in back.said()[1][1]
