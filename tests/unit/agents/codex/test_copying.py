"""What a written fork of a Codex thread is made of."""

import io
import json
import multiprocessing
import stat
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from prong.agents.codex.fork import copy
from prong.agents.codex.store import CodexStore
from prong.errors import Corrupt, NotFound, Taken, UsageError
from prong.files.publication import Publication
from prong.model.forks import Child, Cut, ForkPoint, Method
from tests.unit.agents.codex.forks import ID, NEW, OTHER, SEGMENT, Forks, lines, thread, write
from tests.unit.agents.stores import CWD, Codex, as_bytes, uuid


@pytest.fixture(autouse=True)
def _no_codex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here prong does everything itself."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.fixture
def forks(codex: Codex, tmp_path: Path) -> Forks:
    return Forks(codex, tmp_path)


def test_a_fork_is_a_private_file_where_codex_looks(codex: Codex, forks: Forks) -> None:
    made = forks.make(write(codex, thread(codex, "one", "two", "three")), 2)
    started = made.started
    assert started is not None
    local = started.astimezone()
    folder = codex.root / "sessions" / f"{local:%Y/%m/%d}"
    assert made.path == folder / f"rollout-{local:%Y-%m-%dT%H-%M-%S}-{NEW}.jsonl"
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert [path.name for path in folder.iterdir()] == [made.path.name]
    assert made.path.read_bytes().endswith(b"}\n")
    assert forks.prompts(made) == ["one", "two"]
    assert list(forks.journal.iterdir()) == []


def test_the_first_line_is_the_fork_s_own(codex: Codex, forks: Forks) -> None:
    sample = thread(codex, "one", model_provider="openai", base_instructions={"text": "be kind"})
    made = forks.make(write(codex, sample), 1)
    meta = lines(made.path)[0]
    assert (meta["type"], meta["ordinal"]) == ("session_meta", 0)
    payload = meta["payload"]
    assert (payload["id"], payload["session_id"], payload["forked_from_id"]) == (NEW, NEW, ID)
    assert payload["cwd"] == str(forks.into)
    assert payload["timestamp"] == meta["timestamp"]
    assert payload["model_provider"] == "openai"
    assert payload["base_instructions"] == {"text": "be kind"}
    # The branch of the old folder says nothing about the new one.
    assert "git" not in payload


def test_a_fork_in_the_same_folder_keeps_the_branch(codex: Codex, forks: Forks) -> None:
    made = forks.make(write(codex, thread(codex, "one")), 1, into=Path(CWD))
    assert lines(made.path)[0]["payload"]["git"] == {"branch": "main"}


def test_a_fork_of_a_headless_thread_is_for_people(codex: Codex, forks: Forks) -> None:
    made = forks.make(write(codex, thread(codex, "one", source="exec")), 1)
    assert (made.entrypoint, made.headless) == ("cli", False)


def test_everything_else_stays_byte_for_byte(codex: Codex, forks: Forks) -> None:
    sample = thread(codex, "one\u2028two \U0001f600", "two")
    theirs = as_bytes(sample.lines).split(b"\n")
    theirs[3] = theirs[3].replace(b'"payload":{', b'"new":[1.50],"payload":{"odd":"\\u00e9 \\/",')
    path = codex.write(ID, [b"\n".join(theirs)])
    made = forks.make(path, 1)
    end = sample.ends[0]
    old, new = (f'"thread_id":"{id_}"'.encode() for id_ in (ID, NEW))
    ours = made.path.read_bytes().split(b"\n")
    assert ours[1:end] == [line.replace(old, new) for line in theirs[1:end]]
    assert [line["ordinal"] for line in lines(made.path)] == list(range(len(lines(made.path))))


def test_ids_are_set_by_key_and_never_in_text(codex: Codex, forks: Forks) -> None:
    sample = codex.new()
    sample.turn(f"look into {ID}", f'{{"thread_id":"{ID}"}}')
    sample.add("token_usage_record", thread_id=ID, session_id=ID, turn_id="t")
    sample.add(
        "event_msg",
        type="item_completed",
        thread_id=ID,
        item={
            "type": "CollabAgentToolCall",
            "sender_thread_id": ID,
            "receiver_thread_ids": [OTHER],
        },
    )
    made = forks.make(write(codex, sample), 1)
    text = made.path.read_text()
    assert text.count(NEW) == 9
    payloads = [line["payload"] for line in lines(made.path)]
    usage = next(one for one in payloads if one.get("turn_id") == "t")
    assert (usage["thread_id"], usage["session_id"]) == (NEW, NEW)
    item = next(one["item"] for one in payloads if "sender_thread_id" in one.get("item", {}))
    assert (item["sender_thread_id"], item["receiver_thread_ids"]) == (NEW, [OTHER])
    assert forks.prompts(made) == [f"look into {ID}"]
    assert f'{{"thread_id":"{ID}"}}' in forks.context(made)


def test_nothing_of_the_next_turn_is_in_it(codex: Codex, forks: Forks) -> None:
    sample = thread(codex, "one")
    settings = {"cwd": "/later", "model": "other"}
    sample.add("event_msg", type="thread_settings_applied", thread_id=ID, thread_settings=settings)
    sample.turn("two", "secret")
    made = forks.make(write(codex, sample), 1)
    text = made.path.read_text()
    assert not any(word in text for word in ("two", "secret", "/later"))


def test_it_says_that_it_is_in_another_folder(codex: Codex, forks: Forks) -> None:
    sample = codex.new()
    settings = {"cwd": CWD, "model": "m", "approval_policy": "never"}
    sample.add("event_msg", type="thread_settings_applied", thread_id=ID, thread_settings=settings)
    sample.turn("one", "1")
    made = forks.make(write(codex, sample), 1)
    last = lines(made.path)[-1]["payload"]
    assert (last["type"], last["thread_id"]) == ("thread_settings_applied", NEW)
    assert last["thread_settings"] == settings | {
        "cwd": str(forks.into),
        "runtime_workspace_roots": [str(forks.into)],
    }
    assert made.cwd == codex.session(NEW).cwd == str(forks.into)


def test_a_title(codex: Codex, forks: Forks) -> None:
    made = forks.make(write(codex, thread(codex, "one")), 1, title="The other way")
    assert made.title == codex.session(NEW).title == "The other way"


def test_before_the_first_turn_there_is_nothing(codex: Codex, forks: Forks) -> None:
    made = forks.make(write(codex, thread(codex, "one")), 0)
    assert [line["type"] for line in lines(made.path)] == ["session_meta"]
    assert (made.turn_count, made.cwd) == (0, str(forks.into))


def test_damaged_lines_are_written_as_they_were_read(codex: Codex, forks: Forks) -> None:
    sample = thread(codex, "one")
    first, *rest = as_bytes(sample.lines).split(b"\n")
    wrong = json.dumps(sample.lines[2] | {"ordinal": 99}).replace("gpt", "g\tpt").encode()
    data = b"\n".join([first, b"garbage", wrong + b"\xff", b'{"half":', *rest])
    made = forks.make(codex.write(ID, [data]), 1)
    assert forks.prompts(made) == ["one"]
    assert b"garbage" not in made.path.read_bytes()


def test_two_objects_on_a_line(codex: Codex, forks: Forks) -> None:
    sample = thread(codex, "one", "two")
    data = as_bytes(sample.lines).split(b"\n")
    end = sample.ends[0] - 1
    joined = [*data[:end], data[end] + data[end + 1], *data[end + 2 :]]
    made = forks.make(codex.write(ID, [b"\n".join(joined)]), 1)
    assert forks.prompts(made) == ["one"]
    assert sample.turns[1] not in made.path.read_text()


@pytest.mark.parametrize("where", ["sessions", "archived_sessions", "segment", "itself"])
def test_an_id_that_is_in_use(codex: Codex, forks: Forks, where: str) -> None:
    path = write(codex, thread(codex, "one"))
    other = thread(codex, "other", number=2)
    taken = OTHER
    if where == "segment":
        codex.write(OTHER, other.lines, segment=SEGMENT)
        taken = SEGMENT
    elif where == "archived_sessions":
        made = write(codex, other)
        (codex.root / where).mkdir()
        made.rename(codex.root / where / made.name)
    elif where == "sessions":
        write(codex, other)
    else:
        taken = ID
    before = sorted(codex.root.rglob("*"))
    with pytest.raises(Taken):
        forks.make(path, 1, id_=taken)
    assert sorted(codex.root.rglob("*")) == before


def _fork(root: Path, folder: Path, number: int, id_: str) -> str:
    store = CodexStore([root])
    session = store.session_at(Codex(root).path(ID))
    assert session
    point = ForkPoint(session.ref, 1)
    with closing(store.source(session)) as source:
        turn = source.conversation.turns[0].id
        try:
            with Publication(folder / "journal") as publication:
                store.copy(source, Cut(turn), Child(id_, folder, point), publication)
        except Taken:
            return "taken"
    return "made"


def test_many_at_a_time(codex: Codex, tmp_path: Path) -> None:
    write(codex, thread(codex, "one", "two"))
    jobs = [(codex.root, tmp_path, number, uuid(100 + number // 2)) for number in range(20)]
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        outcomes = pool.starmap(_fork, jobs)
    assert sorted(outcomes) == ["made"] * 10 + ["taken"] * 10
    made = [session for session in codex.scan().sessions if session.parent]
    assert len({session.id for session in made}) == len(made) == 10
    assert {session.turn_count for session in made} == {1}


def test_ids_are_uuids(codex: Codex) -> None:
    path = write(codex, thread(codex, "one"))
    session = codex.store.session_at(path)
    assert session
    with closing(codex.store.source(session)) as source:
        cut = Cut(source.conversation.turns[0].id)

        def fork_id(wanted: str | None, method: Method = Method.COPY) -> str | None:
            return codex.store.fork_id(method, source, cut, wanted)

        assert fork_id(NEW.upper()) == NEW
        for wrong in ("", "mine", NEW[:-1], f"{{{NEW}}}"):
            with pytest.raises(UsageError):
                fork_id(wrong)
        made = fork_id(None)
        assert made is not None
        assert UUID(made).version == 7
        assert made != fork_id(None)
        for method in (Method.NATIVE, Method.SEED):
            assert fork_id(None, method) is None
            with pytest.raises(UsageError):
                fork_id(NEW, method)


def test_a_session_from_elsewhere_is_forked_into_the_first_root(
    codex: Codex, forks: Forks, tmp_path: Path
) -> None:
    elsewhere = Codex(tmp_path / "elsewhere")
    source = thread(elsewhere, "one", "two")
    fork = source.fork(OTHER, 1)
    fork.turn("mine", "ok")
    write(elsewhere, source)
    made = forks.make(write(elsewhere, fork), 2)
    assert made.path.is_relative_to(codex.root)
    assert codex.prompts(NEW) == ["one", "mine"]


def test_what_is_written_meanwhile_is_not_in_it(codex: Codex, forks: Forks) -> None:
    sample = thread(codex, "one", "two")
    path = write(codex, sample)
    session = codex.store.session_at(path)
    assert session
    with closing(codex.store.source(session)) as source, forks.publication() as publication:
        cut = Cut(source.conversation.turns[-1].id)
        sample.turn("three", "3")
        path.write_bytes(as_bytes(sample.lines))
        child = Child(NEW, forks.into, ForkPoint(session.ref, 2))
        made = codex.store.copy(source, cut, child, publication)
    assert forks.prompts(made) == ["one", "two"]


def test_a_session_file_that_is_a_link(codex: Codex, forks: Forks, tmp_path: Path) -> None:
    path = write(codex, thread(codex, "one", "two"))
    real = tmp_path / "moved.jsonl"
    path.rename(real)
    path.symlink_to(real)
    made = forks.make(path, 1)
    assert not made.path.is_symlink()
    assert forks.prompts(made) == ["one"]


def test_a_sub_agent_s_own_file(codex: Codex, forks: Forks) -> None:
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": ID, "depth": 1}}}
    sample = thread(codex, "count", parent_thread_id=ID, agent_nickname="Ada")
    sample.lines[0]["payload"]["source"] = spawned
    made = forks.make(write(codex, sample), 1)
    payload = lines(made.path)[0]["payload"]
    assert payload["source"] == "cli"
    assert not {"parent_thread_id", "agent_nickname"} & set(payload)
    assert NEW in codex.ids()


class _Forgetful(io.BufferedWriter):
    """Loses the beginnings of the turns."""

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path, "w"))

    def write(self, buffer: Any, /) -> int:
        return super().write(b"" if b"task_started" in buffer else buffer)


def test_a_fork_that_does_not_read_back_is_not_published(
    codex: Codex, forks: Forks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy, "writer", _Forgetful)
    path = write(codex, thread(codex, "one"))
    before = sorted(codex.root.rglob("*"))
    with pytest.raises(Corrupt):
        forks.make(path, 1)
    assert sorted(codex.root.rglob("*")) == before


def test_a_turn_that_is_not_there(codex: Codex, forks: Forks) -> None:
    with pytest.raises(NotFound):
        forks.make(write(codex, thread(codex, "one")), "nope")
