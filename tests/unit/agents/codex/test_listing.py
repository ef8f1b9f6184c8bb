import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import zstandard

from prong.agents.codex.store import CodexStore
from prong.errors import Corrupt, NotFound
from prong.storage.scan_cache import NoCache
from prong.testing.home import IsolatedHome
from tests.unit.agents.stores import CWD, START, Codex, as_bytes, uuid

ID = uuid(1)


def write(codex: Codex, number: int = 1) -> Path:
    sample = codex.new(number)
    sample.turn("first prompt\nand more", "1")
    sample.turn("second", "2")
    return codex.write(uuid(number), sample.lines)


def test_metadata(codex: Codex) -> None:
    path = write(codex)
    session = codex.session(ID)
    assert str(session.ref) == f"codex:{ID}"
    assert (session.path, session.size) == (path, path.stat().st_size)
    assert session.title == "first prompt"
    assert (session.cwd, session.cwds, session.branch) == (CWD, (CWD,), "main")
    assert (session.model, session.entrypoint, session.headless) == ("gpt-5.6", "cli", False)
    assert session.started == START
    assert session.updated
    assert session.updated > START + timedelta(seconds=5)
    assert (session.turn_count, session.parent, session.archived) == (2, None, False)


def test_every_folder(codex: Codex) -> None:
    sample = codex.new()
    sample.turn("one", "1")
    settings = {"cwd": "/w/moved", "model": "gpt-6"}
    sample.add("event_msg", type="thread_settings_applied", thread_settings=settings)
    codex.write(ID, sample.lines)
    session = codex.session(ID)
    assert (session.cwd, session.cwds, session.model) == ("/w/moved", (CWD, "/w/moved"), "gpt-6")
    sample.turn("back again", "2")
    codex.write(ID, sample.lines)
    session = codex.session(ID)
    assert (session.cwd, session.cwds) == (CWD, ("/w/moved", CWD))


def test_names_come_from_the_index_and_the_last_line_wins(codex: Codex) -> None:
    write(codex)
    names = [("old", ID), ("other", uuid(2)), ("mine", ID)]
    lines: list[bytes | dict[str, str]] = [{"id": id_, "thread_name": name} for name, id_ in names]
    lines[1:1] = [b"garbage\n", b'{"id":5}\n', b'{"id":"\xff","thread_name":"x"}\n', b"\n"]
    lines.append({"id": ID, "thread_name": ""})
    (codex.root / "session_index.jsonl").write_bytes(as_bytes(lines) + b'{"id":"half')
    assert codex.session(ID).title == "mine"


def test_a_name_in_the_rollout(codex: Codex) -> None:
    sample = codex.new()
    sample.turn("one", "1")
    sample.add("event_msg", type="thread_name_updated", thread_name="told inside")
    codex.write(ID, sample.lines)
    assert codex.session(ID).title == "told inside"
    index = {"id": ID, "thread_name": "in the index"}
    (codex.root / "session_index.jsonl").write_text(json.dumps(index), encoding="utf-8")
    assert codex.session(ID).title == "in the index"


@pytest.mark.parametrize("folder", ["", "2026/11/01", "1999/01/01", "any/where"])
def test_a_rollout_is_found_in_any_folder(codex: Codex, folder: str) -> None:
    path = write(codex)
    target = codex.root / "sessions" / folder / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    path.rename(target)
    assert codex.session(ID).path == target


@pytest.mark.parametrize(
    "name", [f"{ID}.jsonl", f"rollout-{ID}.jsonl", "rollout-x.jsonl", "notes.txt"]
)
def test_files_with_other_names_are_none(codex: Codex, name: str) -> None:
    path = write(codex)
    path.rename(path.with_name(name))
    scan = codex.scan()
    assert (scan.sessions, scan.skipped) == ((), ())


def test_archived(codex: Codex) -> None:
    path = write(codex)
    folder = codex.root / "archived_sessions"
    folder.mkdir()
    path.rename(folder / path.name)
    assert codex.session(ID).archived


def test_packed(codex: Codex) -> None:
    path = write(codex)
    packed = path.with_name(path.name + ".zst")
    packed.write_bytes(zstandard.compress(path.read_bytes()))
    assert codex.session(ID).path == path
    path.unlink()
    session = codex.session(ID)
    assert (session.path, session.turn_count) == (packed, 2)
    assert codex.prompts(ID) == ["first prompt\nand more", "second"]
    assert len(list(codex.store.raw(session))) > 4


def test_half_an_archive(codex: Codex) -> None:
    path = write(codex)
    packed = path.with_name(path.name + ".zst")
    packed.write_bytes(b"(not an archive)")
    path.unlink()
    scan = codex.scan()
    assert scan.sessions == ()
    assert [skip.path for skip in scan.skipped] == [packed]
    assert "cannot unpack" in scan.skipped[0].reason
    with pytest.raises(Corrupt):
        codex.store.session_at(packed)


def test_a_rollout_id_that_two_threads_claim_hides_neither(codex: Codex) -> None:
    sample = codex.new()
    sample.turn("one", "1")
    codex.write(ID, sample.lines)
    codex.write(uuid(2), sample.lines, segment=ID)
    assert codex.ids() == {ID, uuid(2)}


def test_a_sub_agent_s_file_that_bears_its_parent_s_name_does_not_hide_it(codex: Codex) -> None:
    sample = codex.new()
    sample.turn("one", "1")
    codex.write(ID, sample.lines)
    agent = codex.new(2)
    agent.turn("review it", "fine")
    agent.lines[0]["payload"]["source"] = {"subagent": "review"}
    codex.write(ID, agent.lines, time=START + timedelta(hours=1))
    assert codex.prompts(ID) == ["one"]
    assert codex.abandoned(ID) == []


def test_several_roots(tmp_path: Path) -> None:
    one, two = Codex(tmp_path / "one"), Codex(tmp_path / "two")
    write(one, 1)
    write(two, 2)
    write(two, 1)
    sessions = CodexStore([one.root, two.root]).scan(NoCache()).sessions
    assert {session.id for session in sessions} == {uuid(1), uuid(2)}


def test_without_roots_it_looks_where_the_cli_does(
    isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert CodexStore().roots == (isolated_home.codex,)
    monkeypatch.delenv("CODEX_HOME")
    assert CodexStore().roots == (isolated_home.root / ".codex",)


def test_a_rollout_anywhere_under_any_name(codex: Codex, tmp_path: Path) -> None:
    path = write(codex)
    copy = tmp_path / "copy.jsonl"
    path.rename(copy)
    session = codex.store.session_at(copy)
    assert session
    assert (session.id, session.turn_count, session.path) == (ID, 2, copy)
    assert len(codex.store.conversation(session).turns) == 2


def test_a_file_of_another_format(codex: Codex, tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_bytes(b'{"type":"user","uuid":"x","message":{}}\n')
    assert codex.store.session_at(path) is None
    path.write_bytes(b"garbage\n")
    with pytest.raises(Corrupt):
        codex.store.session_at(path)


def test_a_session_that_went_away_or_broke(codex: Codex) -> None:
    path = write(codex)
    session = codex.session(ID)
    path.write_bytes(b"garbage\n")
    with pytest.raises(Corrupt):
        codex.store.conversation(session)
    path.unlink()
    for ask in (
        lambda: codex.store.conversation(session),
        lambda: list(codex.store.messages(session)),
        lambda: codex.store.session_at(path),
    ):
        with pytest.raises(NotFound):
            ask()
    path.mkdir()
    with pytest.raises(Corrupt):
        codex.store.conversation(session)


def test_bad_lines_are_reported_with_their_offset(codex: Codex) -> None:
    sample = codex.new()
    sample.turn("one", "1")
    path = codex.write(ID, [*sample.lines[:3], b"garbage\n", *sample.lines[3:], b'{"half'])
    conversation = codex.conversation(ID)
    data = path.read_bytes()
    assert len(conversation.turns) == 1
    assert [(skip.path, skip.offset) for skip in conversation.skipped] == [
        (path, data.index(b"garbage")),
        (path, data.rindex(b"{")),
    ]


def test_a_session_without_times_has_that_of_its_file(codex: Codex) -> None:
    sample = codex.new()
    sample.turn("one", "1")
    for line in sample.lines:
        del line["timestamp"]
        line["payload"].pop("timestamp", None)
    path = codex.write(ID, sample.lines)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert codex.session(ID).updated == datetime.fromtimestamp(1_700_000_000, UTC)


def test_samples(codex: Codex) -> None:
    ref = CodexStore([codex.root]).write_samples(CWD, START)
    scan = codex.scan()
    assert ref in {session.ref for session in scan.sessions}
    assert scan.skipped == ()
