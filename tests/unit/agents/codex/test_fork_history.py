"""Written forks of threads with a history: segments, rollbacks, compactions, old formats."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.samples.codex import CodexSample
from tests.unit.agents.codex.forks import ID, NEW, OTHER, SEGMENT, Forks, lines, thread, write
from tests.unit.agents.stores import CWD, START, Codex, uuid


@pytest.fixture(autouse=True)
def _no_codex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here prong does everything itself."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.fixture
def forks(codex: Codex, tmp_path: Path) -> Forks:
    return Forks(codex, tmp_path)


class TestSegments:
    """Threads that are spread over files become one file."""

    def test_a_stub_is_flattened(self, codex: Codex, forks: Forks) -> None:
        source = thread(codex, "one", "two", "three")
        fork = source.fork(OTHER, 2)
        fork.turn("mine", "ok")
        fork.turn("mine too", "ok")
        write(codex, source)
        made = forks.make(write(codex, fork), 3)
        assert forks.prompts(made) == ["one", "two", "mine"]
        payload = lines(made.path)[0]["payload"]
        assert not {"history_base", "forked_from_ordinal_exclusive"} & set(payload)
        assert payload["forked_from_id"] == OTHER
        assert {line["payload"].get("thread_id") for line in lines(made.path)} == {None, NEW}
        assert (str(made.parent), made.inherited) == (f"codex:{OTHER}", 3)
        assert [one["ordinal"] for one in lines(made.path)] == list(range(len(lines(made.path))))

    def test_a_turn_that_the_stub_inherited(self, codex: Codex, forks: Forks) -> None:
        source = thread(codex, "one", "two", "three")
        fork = source.fork(OTHER, 2)
        fork.turn("mine", "ok")
        write(codex, source)
        made = forks.make(write(codex, fork), 1)
        assert forks.prompts(made) == ["one"]
        assert lines(made.path)[0]["payload"]["forked_from_id"] == OTHER
        assert codex.session(NEW).inherited == 1

    def rewound(self, codex: Codex) -> tuple[CodexSample, Path]:
        source = thread(codex, "one", "two", "three")
        base = {"thread_id": ID, "end_ordinal_exclusive": source.ends[0], "end_byte_offset": 0}
        segment = CodexSample(ID, CWD, START + timedelta(hours=1), history_base=base)
        segment.ordinal = source.ends[0] + 1
        segment._count = 1000
        segment.turn("two again", "better")
        write(codex, source)
        return source, write(codex, segment, time=segment.start, segment=SEGMENT)

    def test_a_rewound_thread(self, codex: Codex, forks: Forks) -> None:
        _, path = self.rewound(codex)
        made = forks.make(path, 2)
        assert forks.prompts(made) == ["one", "two again"]
        assert forks.store.conversation(made).abandoned == ()

    def test_what_the_rewind_left_behind(self, codex: Codex, forks: Forks) -> None:
        source, path = self.rewound(codex)
        made = forks.make(path, source.turns[2])
        assert forks.prompts(made) == ["one", "two", "three"]
        assert made.inherited == codex.session(NEW).inherited == 3

    def test_a_rollback_of_an_old_cli(self, codex: Codex, forks: Forks) -> None:
        sample = thread(codex, "one", "two", "three")
        sample.add("event_msg", type="thread_rolled_back", num_turns=2)
        sample.add("event_msg", type="token_count", info={"last_token_usage": {"total_tokens": 9}})
        sample.turn("two again", "better")
        path = write(codex, sample)
        assert forks.prompts(forks.make(path, 2, id_=uuid(20))) == ["one", "two again"]
        assert forks.prompts(forks.make(path, 1, id_=uuid(21))) == ["one"]
        left = forks.make(path, sample.turns[2], id_=uuid(22))
        assert forks.prompts(left) == ["one", "two", "three"]
        assert "two again" not in left.path.read_text()

    def test_a_missing_base(self, codex: Codex, forks: Forks) -> None:
        fork = thread(codex, "one").fork(OTHER, 1)
        fork.turn("mine", "ok")
        path = write(codex, fork)
        assert forks.prompts(forks.make(path, 1)) == ["mine"]

    def test_a_packed_source(self, codex: Codex, forks: Forks) -> None:
        path = write(codex, thread(codex, "one", "two"))
        packed = path.with_name(path.name + ".zst")
        packed.write_bytes(zstandard.compress(path.read_bytes()))
        path.unlink()
        assert forks.prompts(forks.make(packed, 1)) == ["one"]


def compact(sample: CodexSample, summary: str, *, task: bool) -> None:
    """A compaction as Codex writes it, as a task of its own or in the middle of one."""
    id_ = sample.uuid()
    if task:
        sample.add("event_msg", type="task_started", turn_id=id_)
    sample.add("response_item", type="reasoning", summary=[])
    content = [{"type": "output_text", "text": summary}]
    sample.add("response_item", type="message", role="assistant", content=content)
    sample.add("event_msg", type="token_count", info={"last_token_usage": {"total_tokens": 99}})
    told = f"Another model wrote:\n{summary}"
    content = [{"type": "input_text", "text": told}]
    item = {"type": "message", "role": "user", "content": content}
    sample.add("compacted", message=told, replacement_history=[item])
    note = {"type": "ContextCompaction"}
    sample.add("event_msg", type="item_completed", thread_id=sample.id, turn_id=id_, item=note)
    if task:
        sample.add("event_msg", type="task_complete", turn_id=id_)


class TestCompaction:
    @pytest.fixture(params=[True, False], ids=["a task of its own", "in the middle"])
    def path(self, request: pytest.FixtureRequest, codex: Codex) -> Path:
        sample = thread(codex, "one", "two")
        if request.param:
            compact(sample, "SUMMARY", task=True)
            sample.turn("three", "answer to three")
        else:
            end = len(sample.lines) - 1
            compact(sample, "SUMMARY", task=False)
            # Before the last line of the second turn, which ends it.
            sample.lines.append(sample.lines.pop(end))
            sample.turn("three", "answer to three")
        return write(codex, sample)

    def test_before_it_nothing_was_summed_up(self, path: Path, forks: Forks) -> None:
        assert forks.context(forks.make(path, 1)) == ["one", "answer to one"]

    def test_behind_it_the_model_gets_the_summary(self, path: Path, forks: Forks) -> None:
        assert forks.context(forks.make(path, 2)) == ["Another model wrote:\nSUMMARY"]
        later = forks.make(path, 3, id_=uuid(10))
        assert forks.context(later)[1:] == ["three", "answer to three"]
        assert forks.prompts(later) == ["one", "two", "three"]

    @pytest.mark.parametrize("turn", [1, 2, 3])
    def test_it_can_be_undone(self, path: Path, forks: Forks, turn: int) -> None:
        made = forks.make(path, turn, full=True)
        words = ["one", "two", "three"][:turn]
        assert forks.context(made) == [
            said for word in words for said in (word, f"answer to {word}")
        ]
        assert forks.store.conversation(made).compactions == ()
        text = made.path.read_text()
        assert not any(word in text for word in ("SUMMARY", "ContextCompaction", "reasoning"))

    def test_an_answer_before_it_is_no_summary(self, codex: Codex, forks: Forks) -> None:
        """A compaction by the API leaves no summary in words."""
        sample = thread(codex, "one")
        end = sample.lines.pop()
        sample.add("compacted", message="", replacement_history=[])
        sample.add("event_msg", type="context_compacted")
        sample.lines.append(end)
        made = forks.make(write(codex, sample), 1, full=True)
        assert forks.context(made) == ["one", "answer to one"]
        assert "compacted" not in made.path.read_text()


class TestOldFiles:
    def test_a_legacy_file_stays_one(self, codex: Codex, forks: Forks) -> None:
        sample = thread(codex, "one", "two")
        del sample.lines[0]["payload"]["history_mode"]
        for line in sample.lines:
            del line["ordinal"]
        # An old fork has the metadata of its parent as well.
        sample.lines.insert(1, json.loads(json.dumps(sample.lines[0])))
        made = forks.make(write(codex, sample), 1)
        assert not any("ordinal" in line for line in lines(made.path))
        assert [line["type"] for line in lines(made.path)].count("session_meta") == 1
        assert forks.prompts(made) == ["one"]

    def test_bare_lines_are_wrapped(self, codex: Codex, forks: Forks) -> None:
        old: list[dict[str, Any]] = [{"id": ID, "timestamp": "2025-08-25T08:13:30.390Z", "git": {}}]
        for number, text in enumerate(["one", "1", "two", "2"]):
            role = "assistant" if number % 2 else "user"
            content = [{"type": "output_text" if number % 2 else "input_text", "text": text}]
            old += [{"record_type": "state"}, {"type": "message", "role": role, "content": content}]
        path = codex.write(ID, old)
        made = forks.make(path, 1)
        meta, *rest = lines(made.path)
        assert {"id", "timestamp", "cwd", "originator", "cli_version"} <= set(meta["payload"])
        assert [(line["type"], line["payload"]["type"]) for line in rest] == [
            ("response_item", "message"),
            # Codex adds such events when it goes on, and then only they count as prompts.
            ("event_msg", "user_message"),
            ("response_item", "message"),
            ("event_msg", "thread_settings_applied"),
        ]
        session = codex.session(ID)
        ids = [turn.id for turn in forks.store.conversation(session).turns]
        assert [turn.id for turn in forks.store.conversation(made).turns] == ids[:1]
        assert made.inherited == 1

    def test_the_item_of_the_next_prompt_is_left_out(self, codex: Codex, forks: Forks) -> None:
        """Files without marks have the prompt as an item first, then as an event."""
        old: list[dict[str, Any]] = [
            {"timestamp": "2025-10-01T10:00:00.000Z", "type": "session_meta", "payload": {"id": ID}}
        ]
        for second, text in enumerate(["one", "two"]):
            content = [{"type": "input_text", "text": text}]
            for type_, payload in (
                ("response_item", {"type": "message", "role": "user", "content": content}),
                ("event_msg", {"type": "user_message", "message": text}),
                ("event_msg", {"type": "agent_message", "message": f"answer to {text}"}),
            ):
                time = f"2025-10-01T10:00:{second:02d}.000Z"
                old.append({"timestamp": time, "type": type_, "payload": payload})
        made = forks.make(codex.write(ID, old), 1)
        assert "two" not in made.path.read_text()
        assert forks.prompts(made) == ["one"]
