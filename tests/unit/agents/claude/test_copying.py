"""What a written fork of a Claude session is made of."""

import hashlib
import json
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Self

import pytest

from prong.agents.claude.folders import project_folder
from prong.agents.claude.fork import copy
from prong.errors import Corrupt, NotFound, Taken, UsageError
from prong.files.publication import Publication
from prong.model.forks import Child, Cut, ForkPoint, Method
from prong.model.sessions import Session, SessionRef, TurnState, View
from tests.samples.claude import ClaudeSample
from tests.unit.agents.stores import CWD, Claude, as_bytes, uuid

ID = uuid(1)
NEW = uuid(9)


class Forks:
    """Forks sessions of one store into a folder."""

    def __init__(self, claude: Claude, folder: Path) -> None:
        self.claude = claude
        self.into = folder / "into"
        self.into.mkdir()
        self.journal = folder / "journal"

    def make(
        self,
        path: Path,
        turn: int,
        *,
        full: bool = False,
        id_: str = NEW,
        title: str | None = None,
        into: Path | None = None,
    ) -> Session:
        before = hashlib.sha256(path.read_bytes()).hexdigest()
        store = self.claude.store
        session = store.session_at(path)
        assert session
        with closing(store.source(session)) as source, Publication(self.journal) as publication:
            turns = source.conversation.turns
            chosen = turns[turn - 1].id if turn else None
            point = ForkPoint(session.ref, turn, chosen)
            child = Child(id_, into or self.into, point, title)
            made = store.copy(source, Cut(chosen, full), child, publication)
        assert hashlib.sha256(path.read_bytes()).hexdigest() == before
        return made

    def warnings(self, path: Path, turn: int) -> tuple[str, ...]:
        session = self.claude.store.session_at(path)
        assert session
        with closing(self.claude.store.source(session)) as source:
            return source.extent(Cut(source.conversation.turns[turn - 1].id)).warnings

    def context(self, session: Session) -> list[str]:
        messages = self.claude.store.messages(session, view=View.CONTEXT)
        return [
            message.text or (message.tool.output or "" if message.tool else "")
            for message in messages
        ]


@pytest.fixture
def forks(claude: Claude, tmp_path: Path) -> Forks:
    return Forks(claude, tmp_path)


def two_turns(claude: Claude) -> ClaudeSample:
    sample = claude.new()
    sample.prompt("one")
    sample.answer("first", tokens=10)
    sample.prompt("two")
    sample.answer("second", tokens=20)
    return sample


def lines(session: Session | Path) -> list[dict[str, Any]]:
    path = session if isinstance(session, Path) else session.path
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def test_a_fork_is_a_private_file_in_the_folder_of_its_project(
    claude: Claude, forks: Forks
) -> None:
    made = forks.make(two_turns(claude).write(claude.root), 1)
    assert made.path == claude.root / "projects" / project_folder(forks.into) / f"{NEW}.jsonl"
    assert made.path.stat().st_mode & 0o777 == 0o600
    assert made.path.parent.stat().st_mode & 0o777 == 0o700
    assert made.parent
    assert made.parent.id == ID
    assert made.inherited == 1
    assert made.cwd == str(forks.into)
    assert [path.name for path in made.path.parent.iterdir()] == [made.path.name]


def test_keys_are_set_and_everything_else_stays(claude: Claude, forks: Forks) -> None:
    sample = two_turns(claude)
    sample.entrypoint = "sdk-cli"
    sample.prompt(f"what is {ID}?")
    sample.lines[-1]["session_id"] = ID
    sample.answer("an id")
    sample.lines[-2]["message"]["odd"] = {"sessionId": ID, "cwd": CWD}
    made = forks.make(sample.write(claude.root), 3)
    for old, new in zip(sample.lines, lines(made), strict=True):
        changed = {
            "sessionId": NEW,
            "entrypoint": "cli",
            "cwd": str(forks.into),
            "forkedFrom": {"sessionId": ID, "messageUuid": old["uuid"]},
        }
        assert new == {**old, **changed}


def test_nothing_of_the_next_turn_is_in_it(claude: Claude, forks: Forks) -> None:
    sample = claude.new()
    sample.prompt("one")
    sample.side("queue-operation", operation="enqueue", content="the secret")
    sample.side("api-request-blob", blob="the secret")
    sample.side("file-history-snapshot", messageId=uuid(77), snapshot={"x": "the secret"})
    sample.answer("first")
    sample.side("last-prompt", lastPrompt="the secret", leafUuid=sample.leaf)
    sample.prompt("the secret")
    sample.answer("second")
    made = forks.make(sample.write(claude.root), 1)
    assert b"secret" not in made.path.read_bytes()
    assert {line["type"] for line in lines(made)} == {"user", "assistant", "system"}


def test_a_title_comes_last(claude: Claude, forks: Forks) -> None:
    made = forks.make(two_turns(claude).write(claude.root), 2, title="try it with locks")
    assert made.title == "try it with locks"
    last = lines(made)[-1]
    assert (last["type"], last["customTitle"]) == ("custom-title", "try it with locks")
    assert last["sessionId"] == NEW
    # The copied lines are old; the fork is not.
    assert made.updated
    assert made.updated > datetime.now(UTC) - timedelta(minutes=1)


def test_what_a_person_did_behind_the_answer_is_no_part_of_the_turn(
    claude: Claude, forks: Forks
) -> None:
    sample = two_turns(claude)
    text = "<command-name>/rename</command-name>"
    sample.chain("user", message={"role": "user", "content": "Caveat: ..."}, isMeta=True)
    sample.chain("user", message={"role": "user", "content": text})
    sample.chain("system", subtype="local_command", content="<local-command-stdout>ok")
    sample.prompt("three")
    sample.answer("third")
    made = forks.make(sample.write(claude.root), 2)
    assert lines(made)[-1]["subtype"] == "turn_duration"
    assert forks.context(made) == ["one", "first", "two", "second"]


def test_a_prompt_without_an_answer_keeps_what_it_was_expanded_to(
    claude: Claude, forks: Forks
) -> None:
    sample = two_turns(claude)
    sample.prompt("/deploy")
    sample.chain("user", message={"role": "user", "content": "Deploy it."}, isMeta=True)
    made = forks.make(sample.write(claude.root), 3)
    assert forks.context(made)[-2:] == ["/deploy", "Deploy it."]


def test_a_caveat_behind_an_interrupt_belongs_to_the_next_command(
    claude: Claude, forks: Forks
) -> None:
    sample = two_turns(claude)
    sample.prompt("three")
    sample.interrupt()
    caveat = "<local-command-caveat>Caveat: The messages below"
    sample.chain("user", message={"role": "user", "content": caveat}, isMeta=True)
    command = "<command-name>/theme</command-name>"
    sample.chain("user", message={"role": "user", "content": command})
    sample.prompt("four")
    made = forks.make(sample.write(claude.root), 3)
    assert b"Caveat" not in made.path.read_bytes()
    assert forks.context(made)[-1].startswith("[Request interrupted")


def test_a_message_that_goes_on_behind_the_next_prompt(claude: Claude, forks: Forks) -> None:
    sample = two_turns(claude)
    thought(sample, {"type": "text", "text": "now the call"})
    sample.prompt("wait")
    thought(sample, {"type": "tool_use", "id": "t1", "name": "Read", "input": {}})
    made = forks.make(sample.write(claude.root), 2)
    assert forks.context(made)[-1] == "now the call"
    assert b"tool_use" not in made.path.read_bytes()


def test_a_session_that_lost_its_first_prompt(claude: Claude, forks: Forks) -> None:
    sample = two_turns(claude)
    lost = next(i for i, line in enumerate(sample.lines) if line["type"] == "assistant")
    del sample.lines[:lost]
    del sample.lines[next(i for i, line in enumerate(sample.lines) if line["type"] == "user") :]
    path = sample.write(claude.root)
    assert claude.prompts(path.stem) == [""]
    made = forks.make(path, 1)
    assert made.turn_count == 1
    assert forks.context(made) == ["first"]


def test_a_line_without_a_time_gets_that_of_the_line_before(claude: Claude, forks: Forks) -> None:
    """The real CLI says that there is no conversation where the last line has none."""
    sample = two_turns(claude)
    first = next(line for line in sample.lines if line["type"] == "assistant")
    del first["timestamp"]
    copied = lines(forks.make(claude.write(ID, sample.lines), 1))
    number = next(i for i, line in enumerate(copied) if line["type"] == "assistant")
    assert copied[number]["timestamp"] == copied[number - 1]["timestamp"]


def test_what_hooks_wrote_before_the_first_prompt_is_nothing_to_fork(claude: Claude) -> None:
    sample = claude.new()
    sample.chain("attachment", attachment={"type": "hook_success", "hookEvent": "SessionStart"})
    sample.prompt("one")
    sample.answer("first")
    session = claude.store.session_at(sample.write(claude.root))
    assert session
    with closing(claude.store.source(session)) as source:
        assert source.extent(Cut(None)).characters == 0


class TestCompaction:
    @pytest.fixture
    def path(self, claude: Claude) -> Path:
        sample = two_turns(claude)
        sample.compact("in short: one, two")
        boundary, summary = sample.lines[-2:]
        boundary["compactMetadata"]["preservedMessages"] = {
            "anchorUuid": summary["uuid"],
            "uuids": [sample.lines[4]["uuid"]],
        }
        text = "<command-name>/compact</command-name>"
        sample.chain("user", message={"role": "user", "content": text})
        sample.prompt("three")
        sample.answer("third")
        return sample.write(claude.root)

    def test_before_it_nothing_was_summed_up(self, path: Path, forks: Forks) -> None:
        assert forks.context(forks.make(path, 1)) == ["one", "first"]

    def test_just_behind_it_the_model_gets_the_summary(self, path: Path, forks: Forks) -> None:
        made = forks.make(path, 2)
        assert forks.context(made) == ["in short: one, two", "second"]

    def test_later_too_and_the_words_are_still_in_the_file(self, path: Path, forks: Forks) -> None:
        made = forks.make(path, 3)
        assert forks.context(made)[:2] == ["in short: one, two", "second"]
        assert forks.context(made)[-2:] == ["three", "third"]
        assert made.turn_count == 3

    def test_the_next_turn_hangs_to_what_it_preserved(self, claude: Claude, forks: Forks) -> None:
        sample = two_turns(claude)
        answer, tail = (line["uuid"] for line in sample.lines[-2:])
        sample.compact("in short: one, two")
        sample.lines[-2]["compactMetadata"]["preservedSegment"] = {
            "headUuid": answer,
            "anchorUuid": sample.leaf,
            "tailUuid": tail,
        }
        sample.leaf = tail
        sample.prompt("three")
        sample.answer("third")
        made = forks.make(sample.write(claude.root), 2)
        assert forks.context(made) == ["in short: one, two", "second"]

    @pytest.mark.parametrize("turn", [2, 3])
    def test_it_can_be_undone(self, path: Path, forks: Forks, turn: int) -> None:
        made = forks.make(path, turn, full=True)
        words = ["one", "first", "two", "second", "three", "third"]
        assert forks.context(made) == words[: 2 * turn]
        assert b"in short" not in made.path.read_bytes()

    def test_a_summary_of_another_file_stays(self, claude: Claude, forks: Forks) -> None:
        """Claude Code may begin a file with it; the words that it sums up are elsewhere."""
        sample = claude.new()
        sample.compact("earlier: zero")
        sample.prompt("one")
        sample.answer("first")
        sample.compact("in short: zero, one")
        sample.prompt("two")
        sample.answer("second")
        made = forks.make(sample.write(claude.root), 2, full=True)
        assert forks.context(made) == ["earlier: zero", "one", "first", "two", "second"]


def thought(sample: ClaudeSample, *blocks: dict[str, Any]) -> None:
    message = {"id": "msg_1", "role": "assistant", "model": "m", "content": list(blocks)}
    sample.chain("assistant", message=message)


class TestThoughts:
    def test_a_thought_and_its_signature_stay_as_written(
        self, claude: Claude, forks: Forks
    ) -> None:
        block = {"type": "thinking", "thinking": "hm", "signature": "EqQB"}
        sample = claude.new()
        sample.prompt("one")
        thought(sample, block)
        sample.answer("first")
        path = sample.write(claude.root)
        made = forks.make(path, 1)
        assert lines(made)[1]["message"]["content"] == [block]
        assert forks.warnings(path, 1) == ()

    def test_a_signature_alone_stays(self, claude: Claude, forks: Forks) -> None:
        block = {"type": "thinking", "thinking": "", "signature": "EqQB"}
        sample = claude.new()
        sample.prompt("one")
        thought(sample, block)
        thought(sample, block, {"type": "text", "text": "first"})
        path = sample.write(claude.root)
        _, first, second = lines(forks.make(path, 1))
        assert first["message"]["content"] == [block]
        assert second["message"]["content"] == [block, {"type": "text", "text": "first"}]
        assert forks.warnings(path, 1) == ()


def places(lines: Iterable[dict[str, Any]]) -> list[tuple[str, str | None]]:
    return [(line["uuid"], line["parentUuid"]) for line in lines if line.get("uuid")]


def opener(lines: Iterable[dict[str, Any]], prompt: str) -> dict[str, Any]:
    return next(line for line in lines if line.get("message", {}).get("content") == prompt)


class TestOrder:
    def interleaved(self, claude: Claude) -> ClaudeSample:
        """Two calls of one message, with the result of the first and progress between them."""
        sample = claude.new()
        sample.prompt("one")
        sample.tools(("Bash", {"command": "a"}, "A"), ("Bash", {"command": "b"}, "B"))
        call, other, first, second = sample.lines[1:]
        sample.leaf = call["uuid"]
        sample.chain("progress", data={"type": "bash_progress"})
        progress = sample.lines.pop()
        sample.lines[1:] = [call, first, progress, other, second]
        first["parentUuid"], other["parentUuid"] = call["uuid"], progress["uuid"]
        second["parentUuid"] = other["uuid"]
        sample.leaf = second["uuid"]
        sample.answer("done")
        return sample

    def test_lines_stay_in_file_order_with_their_parents(
        self, claude: Claude, forks: Forks
    ) -> None:
        sample = self.interleaved(claude)
        source = places(sample.lines)
        sample.prompt("two")
        sample.answer("second")
        made = forks.make(sample.write(claude.root), 1)
        assert places(lines(made)) == source
        assert forks.context(made)[-3:] == ["A", "B", "done"]

    def test_only_a_line_whose_parent_was_cut_away_is_hung_elsewhere(
        self, claude: Claude, forks: Forks
    ) -> None:
        sample = two_turns(claude)
        sample.compact("in short")
        sample.prompt("three")
        sample.answer("third")
        made = lines(forks.make(sample.write(claude.root), 3, full=True))
        originals = dict(places(sample.lines))
        moved = [uuid for uuid, parent in places(made) if originals[uuid] != parent]
        assert moved == [opener(made, "three")["uuid"]]

    def test_the_leaf_is_named_where_a_later_line_hangs_beside_it(
        self, claude: Claude, forks: Forks
    ) -> None:
        sample = claude.new()
        sample.prompt("one")
        sample.tools(("Bash", {"command": "a"}, "A"), ("Bash", {"command": "b"}, "B"))
        late = sample.lines.pop(3)
        sample.answer("done")
        leaf = sample.leaf
        sample.lines.append(late)
        sample.prompt("two")
        sample.answer("second")
        made = forks.make(sample.write(claude.root), 1)
        named = [line for line in lines(made) if line["type"] == "last-prompt"]
        assert [(line["leafUuid"], line["explicit"]) for line in named] == [(leaf, True)]
        assert forks.context(made)[-1] == "done"


class TestNotes:
    """Lines that hang beside the conversation and are sent with it."""

    def meta(self, sample: ClaudeSample, text: str) -> str:
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        return sample.chain("user", message=message, isMeta=True)

    def skilled(self, claude: Claude) -> ClaudeSample:
        """A skill and another call at once; the conversation continues below the other result."""
        sample = claude.new()
        sample.prompt("one")
        sample.tools(("Skill", {"skill": "tidy"}, "Launching"), ("Bash", {"command": "b"}, "B"))
        skill, other = sample.lines[-2:]
        sample.leaf = skill["uuid"]
        self.meta(sample, "How to tidy")
        sample.chain("attachment", attachment={"type": "command_permissions"})
        sample.leaf = other["uuid"]
        sample.answer("done")
        return sample

    def test_the_text_of_a_skill_beside_another_result_is_copied(
        self, claude: Claude, forks: Forks
    ) -> None:
        sample = self.skilled(claude)
        made = forks.make(sample.write(claude.root), 1)
        assert places(lines(made)) == places(sample.lines)
        assert "How to tidy" in forks.context(made)

    def test_notes_that_branch_are_left_out(self, claude: Claude, forks: Forks) -> None:
        sample = self.skilled(claude)
        leaf = sample.leaf
        sample.leaf = next(line["uuid"] for line in sample.lines if line.get("isMeta") is True)
        self.meta(sample, "Another branch")
        sample.leaf = leaf
        sample.prompt("two")
        sample.answer("second")
        made = forks.make(sample.write(claude.root), 2)
        assert "How to tidy" not in forks.context(made)

    def test_all_notes_behind_the_last_answer_are_copied(
        self, claude: Claude, forks: Forks
    ) -> None:
        sample = two_turns(claude)
        end = sample.leaf
        for prompt in ("and this", "and that"):
            sample.leaf = end
            sample.chain("attachment", attachment={"type": "queued_command", "prompt": prompt})
        made = forks.make(sample.write(claude.root), 2)
        assert forks.context(made)[-2:] == ["and that", "and this"]
        assert places(lines(made)) == places(sample.lines)


class TestEnds:
    def interrupted(self, claude: Claude) -> ClaudeSample:
        sample = claude.new()
        sample.prompt("one")
        sample.answer("half an")
        content = [{"type": "text", "text": "[Request interrupted by user]"}]
        sample.chain("user", message={"role": "user", "content": content})
        return sample

    def test_an_interrupted_turn_ends_with_a_note_that_is_not_sent(
        self, claude: Claude, forks: Forks
    ) -> None:
        sample = self.interrupted(claude)
        sample.prompt("two")
        sample.answer("second")
        made = forks.make(sample.write(claude.root), 1)
        note = lines(made)[-1]
        assert note["type"] == "attachment"
        assert note["parentUuid"] == lines(made)[-2]["uuid"]
        assert forks.context(made) == ["one", "half an", "[Request interrupted by user]"]
        (turn,) = claude.store.conversation(made).turns
        assert turn.state is TurnState.INTERRUPTED

    def test_a_prompt_without_an_answer_ends_with_lines_that_are_not_sent(
        self, claude: Claude, forks: Forks
    ) -> None:
        sample = claude.new()
        sample.prompt("one")
        sample.prompt("two")
        sample.answer("second")
        made = forks.make(sample.write(claude.root), 1)
        prompt, shown, attachment = lines(made)
        assert shown["isVirtual"]
        assert attachment["parentUuid"] == shown["uuid"]
        # Claude Code joins two prompts in a row by a line break, but not across these lines.
        assert prompt["message"]["content"] == "one\n"
        assert forks.context(made) == ["one\n"]
        assert [text for _, text in claude.said(NEW)] == ["one"]

    @pytest.mark.parametrize(
        "block",
        [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "thinking", "thinking": "", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "AAAA"},
            {"type": "text", "text": "\n\n"},
            {"type": "text", "text": "(no content)"},
        ],
        ids=lambda block: str(block.get("text", block["type"])),
    )
    def test_an_answer_without_words_is_none(
        self, claude: Claude, forks: Forks, block: dict[str, str]
    ) -> None:
        """Claude Code does not send it, so it would answer the prompt as the model."""
        sample = claude.new()
        sample.prompt("one")
        sample.chain("assistant", message={"role": "assistant", "id": "msg_1", "content": [block]})
        sample.prompt("two")
        sample.answer("second")
        prompt, silent, shown, attachment = lines(forks.make(sample.write(claude.root), 1))
        assert prompt["message"]["content"] == "one\n"
        assert silent["message"]["content"] == [block]
        assert (shown["isVirtual"], shown["parentUuid"]) == (True, silent["uuid"])
        assert attachment["parentUuid"] == shown["uuid"]

    def test_thinking_before_an_answer_is_part_of_it(self, claude: Claude, forks: Forks) -> None:
        sample = claude.new()
        sample.prompt("one")
        blocks = [{"type": "text", "text": "first"}, {"type": "thinking", "thinking": "hm"}]
        for block in blocks:
            message = {"role": "assistant", "id": "msg_1", "content": [block]}
            sample.chain("assistant", message=message)
        sample.prompt("two")
        sample.answer("second")
        copied = lines(forks.make(sample.write(claude.root), 1))
        assert [line["type"] for line in copied] == ["user", "assistant", "assistant"]

    def test_the_text_of_a_command_without_an_answer_gets_the_line_break(
        self, claude: Claude, forks: Forks
    ) -> None:
        sample = claude.new()
        sample.prompt("<command-message>x</command-message><command-name>/x</command-name>")
        sample.chain("user", message={"role": "user", "content": "do it"}, isMeta=True)
        empty = {"role": "assistant", "id": "msg_1", "content": [{"type": "text", "text": ""}]}
        sample.chain("assistant", message=empty)
        sample.prompt("two")
        sample.answer("second")
        _, expansion, *_ = lines(forks.make(sample.write(claude.root), 1))
        assert expansion["message"]["content"] == "do it\n"

    def test_the_text_of_a_command_stays_with_it_though_a_prompt_follows(
        self, claude: Claude, forks: Forks
    ) -> None:
        sample = claude.new()
        sample.prompt("<command-message>x</command-message><command-name>/x</command-name>")
        sample.chain("user", message={"role": "user", "content": "do it"}, isMeta=True)
        sample.chain("user", message={"role": "user", "content": "and this"}, isMeta=True)
        sample.prompt("two")
        sample.answer("second")
        copied = lines(forks.make(sample.write(claude.root), 1))
        assert [line["message"]["content"] for line in copied[1:3]] == ["do it", "and this\n"]

    @pytest.mark.parametrize("lost", [(0,), (1,), (0, 1), (0, 1, 2)])
    def test_a_call_that_never_got_a_result_is_left_out(
        self, claude: Claude, forks: Forks, lost: tuple[int, ...]
    ) -> None:
        sample = claude.new()
        sample.prompt("one")
        for n in range(3):
            thought(sample, {"type": "tool_use", "id": f"call_{n}", "name": "Read", "input": {}})
        for n in range(3):
            if n not in lost:
                result = {"type": "tool_result", "tool_use_id": f"call_{n}", "content": "ok"}
                sample.chain("user", message={"role": "user", "content": [result]})
        sample.prompt("two")
        sample.answer("second")
        path = sample.write(claude.root)
        copied = [*lines(forks.make(path, 1))]
        text = json.dumps(copied)
        assert [f"call_{n}" in text for n in range(3)] == [n not in lost for n in range(3)]
        known = {line["uuid"] for line in copied}
        assert all(line["parentUuid"] in {None, *known} for line in copied)
        # At the end of the session the CLI itself decides.
        whole = json.dumps([*lines(forks.make(path, 2, id_=uuid(10)))])
        assert all(f"call_{n}" in whole for n in range(3))

    def test_a_sidechain_that_the_conversation_passes_is_written_once(
        self, claude: Claude, forks: Forks
    ) -> None:
        sample = claude.new()
        for text in ("one", "two", "three"):
            sample.prompt(text)
            sample.answer(text)
        sample.lines[1]["isSidechain"] = True
        copied = lines(forks.make(sample.write(claude.root), 2))
        uuids = [line["uuid"] for line in copied if "uuid" in line]
        assert uuids == [line["uuid"] for line in sample.lines[: len(uuids)]]

    def test_progress_behind_an_answer_is_not_the_leaf(self, claude: Claude, forks: Forks) -> None:
        sample = claude.new()
        sample.prompt("one")
        sample.answer("first")
        sample.chain("progress", data={"type": "hook_progress"})
        sample.prompt("two")
        sample.answer("second")
        made = forks.make(sample.write(claude.root), 1)
        assert all(line["type"] != "progress" for line in lines(made))

    def test_a_session_that_ends_interrupted_needs_no_note(
        self, claude: Claude, forks: Forks
    ) -> None:
        sample = self.interrupted(claude)
        assert places(lines(forks.make(sample.write(claude.root), 1))) == places(sample.lines)

    def test_the_last_turn_keeps_what_was_done_behind_it(
        self, claude: Claude, forks: Forks
    ) -> None:
        sample = two_turns(claude)
        sample.chain("system", subtype="local_command", content="<command-name>/usage")
        sample.chain("attachment", attachment={"type": "hook_success"})
        path = sample.write(claude.root)
        assert places(lines(forks.make(path, 2))) == places(sample.lines)
        until = sample.lines.index(opener(sample.lines, "two"))
        first = lines(forks.make(path, 1, id_=uuid(10)))
        assert places(first) == places(sample.lines[:until])


class TestSidecars:
    def agent(self, path: Path, name: str, **fields: Any) -> Path:
        file = path.with_suffix("") / "subagents" / f"agent-{name}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        line = {
            "type": "user",
            "uuid": uuid(50),
            "parentUuid": None,
            "isSidechain": True,
            "agentId": name,
            "sessionId": ID,
            "message": {"role": "user", "content": f"{ID} {path.with_suffix('')}/x"},
        }
        file.write_bytes(as_bytes([line, b"half a line", {**line, **fields}]))
        meta = {"agentType": "Explore", "toolUseId": fields.get("tool", "")}
        file.with_suffix(".meta.json").write_text(json.dumps(meta))
        return file

    def launch(self, sample: ClaudeSample, agent: str) -> str:
        sample.prompt(f"ask {agent}")
        sample.tools(("Agent", {"prompt": "look"}, "found"))
        sample.lines[-1]["toolUseResult"] = {"agentId": agent}
        sample.answer("done")
        return str(sample.lines[-4]["message"]["content"][0]["id"])

    def test_agents_of_the_turns_come_along(self, claude: Claude, forks: Forks) -> None:
        sample = claude.new()
        first = self.launch(sample, "a1")
        self.launch(sample, "b2")
        path = sample.write(claude.root)
        block = {"type": "tool_use", "id": "toolu_deep", "name": "Agent"}
        self.agent(path, "a1", tool=first, message={"role": "assistant", "content": [block]})
        self.agent(path, "b2")
        self.agent(path, "deep", tool="toolu_deep")
        made = forks.make(path, 1)
        folder = made.path.with_suffix("") / "subagents"
        assert sorted(file.name for file in folder.iterdir()) == [
            "agent-a1.jsonl",
            "agent-a1.meta.json",
            "agent-deep.jsonl",
            "agent-deep.meta.json",
        ]
        first_line, *_ = lines(folder / "agent-a1.jsonl")
        assert first_line["sessionId"] == NEW
        assert first_line["message"]["content"] == f"{ID} {made.path.with_suffix('')}/x"
        conversation = claude.store.conversation(made)
        assert {agent.id for agent in conversation.subagents} == {"a1", "deep"}
        assert all(file.stat().st_mode & 0o777 == 0o600 for file in folder.iterdir())

    def test_a_sub_agent_without_its_file_does_not_stop_the_fork(
        self, claude: Claude, forks: Forks
    ) -> None:
        sample = claude.new()
        self.launch(sample, "a1")
        made = forks.make(sample.write(claude.root), 1)
        assert forks.context(made)[-1] == "done"
        assert not made.path.with_suffix("").exists()

    def test_tool_results_are_copied_and_named_anew(self, claude: Claude, forks: Forks) -> None:
        sample = claude.new()
        path = claude.path(sample.id)
        home = path.with_suffix("")
        results = home / "tool-results"
        results.mkdir(parents=True)
        (results / "big é.txt").write_text("all of it")
        (results / "later.txt").write_text("of a later turn")
        sample.prompt("one")
        sample.tools(("Bash", {"command": "x"}, f"saved to {home}/tool-results/big é.txt"))
        block = {"type": "thinking", "thinking": f"see {home}/x", "signature": "EqQB"}
        thought(sample, block)
        sample.answer("done")
        sample.prompt("two")
        sample.tools(("Bash", {"command": "x"}, f"saved to {results}/later.txt"))
        sample.write(claude.root)
        made = forks.make(path, 1)
        copied = made.path.with_suffix("") / "tool-results"
        assert f"saved to {copied}/big é.txt" in forks.context(made)
        # The signature is over the words as they were.
        assert f"see {home}/x" in forks.context(made)
        assert [(file.name, file.read_text()) for file in copied.iterdir()] == [
            ("big é.txt", "all of it")
        ]

    def test_memory_is_given_to_a_project_that_has_none(self, claude: Claude, forks: Forks) -> None:
        path = two_turns(claude).write(claude.root)
        memory = path.parent / "memory"
        (memory / "deep").mkdir(parents=True)
        (memory / "MEMORY.md").write_text("likes tabs")
        (memory / "deep" / "note.md").write_text("deep")
        target = claude.root / "projects" / project_folder(forks.into) / "memory"
        target.mkdir(parents=True)  # the CLI makes an empty one for every project
        forks.make(path, 1)
        assert (target / "MEMORY.md").read_text() == "likes tabs"
        assert (target / "deep" / "note.md").read_text() == "deep"
        (target / "MEMORY.md").write_text("likes spaces")
        forks.make(path, 1, id_=uuid(10))
        assert (target / "MEMORY.md").read_text() == "likes spaces"

    def test_a_fork_in_the_same_project_leaves_its_memory_alone(
        self, claude: Claude, forks: Forks, tmp_path: Path
    ) -> None:
        sample = claude.new(cwd=str(forks.into))
        sample.prompt("one")
        path = sample.write(claude.root)
        (path.parent / "memory").mkdir()
        (path.parent / "memory" / "MEMORY.md").write_text("likes tabs")
        forks.make(path, 1)
        assert (path.parent / "memory" / "MEMORY.md").read_text() == "likes tabs"


@pytest.mark.parametrize("name", ["a_b", "a b", "a.b", "é日🎉", "x" * 180])
def test_any_folder(claude: Claude, forks: Forks, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name / name
    folder.mkdir(parents=True)
    made = forks.make(two_turns(claude).write(claude.root), 1, into=folder)
    assert made.path.parent.name == project_folder(folder)
    assert made.cwd == str(folder)


@pytest.mark.parametrize("cwd", [CWD, "/elsewhere"])
def test_an_id_that_is_in_use(claude: Claude, forks: Forks, cwd: str) -> None:
    path = two_turns(claude).write(claude.root)
    other = claude.new(9, cwd=cwd)
    other.prompt("hello")
    taken = other.write(claude.root)
    before = taken.read_bytes()
    with pytest.raises(Taken):
        forks.make(path, 1)
    assert taken.read_bytes() == before
    assert not forks.journal.exists() or list(forks.journal.iterdir()) == []


def test_ids_are_uuids(claude: Claude) -> None:
    path = two_turns(claude).write(claude.root)
    session = claude.store.session_at(path)
    assert session
    with closing(claude.store.source(session)) as source:
        fork_id = claude.store.fork_id
        assert fork_id(Method.COPY, source, Cut(None), NEW.upper()) == NEW
        assert fork_id(Method.COPY, source, Cut(None), None) != fork_id(
            Method.COPY, source, Cut(None), None
        )
        with pytest.raises(UsageError, match="is not a session id"):
            fork_id(Method.COPY, source, Cut(None), "../../etc")


def test_a_session_file_that_is_a_link(claude: Claude, forks: Forks, tmp_path: Path) -> None:
    real = two_turns(claude).write(tmp_path / "real")
    (real.with_suffix("") / "tool-results").mkdir(parents=True)
    (real.with_suffix("") / "tool-results" / "a.txt").write_text("all")
    link = claude.path(ID)
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    made = forks.make(link, 2)
    assert not made.path.is_symlink()
    assert made.path.is_relative_to(claude.root)
    assert made.turn_count == 2


def test_a_fork_of_a_fork_names_its_own_parent(claude: Claude, forks: Forks) -> None:
    first = forks.make(two_turns(claude).write(claude.root), 2)
    second = forks.make(first.path, 1, id_=uuid(10))
    assert second.parent
    assert second.parent.id == first.id
    parents = {session.id: session.parent for session in claude.scan().sessions}
    assert parents == {ID: None, first.id: SessionRef("claude", ID), second.id: first.ref}


def test_lines_of_old_sub_agents_stay_between_the_others(claude: Claude, forks: Forks) -> None:
    sample = claude.new()
    sample.prompt("one")
    leaf = sample.leaf
    sample.chain("user", message={"role": "user", "content": "to a sub-agent"})
    sample.lines[-1]["isSidechain"] = True
    sample.leaf = leaf
    sample.answer("first")
    sample.chain("user", message={"role": "user", "content": "later"})
    sample.lines[-1]["isSidechain"] = True
    made = forks.make(sample.write(claude.root), 1)
    assert [line.get("isSidechain") for line in lines(made)] == [False, True, False, False]


def test_a_line_of_thirty_megabytes(claude: Claude, forks: Forks) -> None:
    sample = claude.new()
    sample.prompt("look at this")
    picture = {"type": "base64", "media_type": "image/png", "data": "A" * 30_000_000}
    content = [{"type": "image", "source": picture}]
    sample.tools(("Read", {"file_path": "/x.png"}, "x"))
    sample.lines[-1]["message"]["content"][0]["content"] = content
    sample.answer("a cat")
    path = sample.write(claude.root)
    made = forks.make(path, 1)
    assert made.size > 30_000_000
    with closing(claude.store.source(made)) as source:
        assert source.extent(Cut(source.conversation.turns[0].id)).characters < 10_000


def test_a_fork_that_does_not_read_back_is_not_published(
    claude: Claude, forks: Forks, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = two_turns(claude).write(claude.root)
    real = copy.writer

    def losing(path: Path) -> _Losing:
        return _Losing(real(path))

    monkeypatch.setattr(copy, "writer", losing)
    with pytest.raises(Corrupt, match="does not match its source"):
        forks.make(path, 2)
    assert not (claude.root / "projects" / project_folder(forks.into)).exists()


class _Losing:
    """A file that loses its first line."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def writelines(self, lines: Iterable[bytes]) -> None:
        _, _, rest = b"".join(lines).partition(b"\n")
        self._file.write(rest)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def test_a_turn_that_is_not_there(claude: Claude) -> None:
    path = two_turns(claude).write(claude.root)
    session = claude.store.session_at(path)
    assert session
    with closing(claude.store.source(session)) as source, pytest.raises(NotFound):
        source.extent(Cut("nowhere"))


def test_the_size_is_what_the_model_gets(claude: Claude) -> None:
    path = two_turns(claude).write(claude.root)
    session = claude.store.session_at(path)
    assert session
    with closing(claude.store.source(session)) as source:
        turns = source.conversation.turns
        first, second = (source.extent(Cut(turn.id)) for turn in turns)
    assert (first.turns, first.tokens) == (1, 10)
    assert (second.turns, second.tokens) == (2, 20)
    assert 0 < first.characters < second.characters < 100
