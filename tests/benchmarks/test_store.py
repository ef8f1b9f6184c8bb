"""The generated store keeps the rules of the formats, checked without prong's own readers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from benchmarks.peers import decode_store, session_files
from benchmarks.store import StoredSession, StoreManifest, write_store

Record = dict[str, Any]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> StoreManifest:
    return write_store(tmp_path_factory.mktemp("store") / "s", sessions=400, megabytes=60, seed=7)


def records(path: Path) -> Iterator[Record]:
    data = path.read_bytes()
    if path.suffix == ".zst":
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    assert data.endswith(b"\n")
    for line in data.split(b"\n")[:-1]:
        yield json.loads(line)


def of(store: StoreManifest, agent: str) -> list[StoredSession]:
    return [session for session in store.sessions if session.agent == agent]


def test_the_manifest_counts_what_is_on_disk(store: StoreManifest) -> None:
    files = list(session_files(store.root))
    assert len(store.sessions) == 400
    assert len({(session.agent, session.id) for session in store.sessions}) == 400
    assert len(files) == store.files
    assert decode_store(store.root) == store.lines
    assert 0.9 < store.size / 60e6 < 1.1
    assert len(of(store, "claude")) == 320


def test_the_store_has_everything_that_makes_reading_hard(store: StoreManifest) -> None:
    claude, codex = of(store, "claude"), of(store, "codex")
    assert store.subagent_files
    assert store.empty_files
    for sessions in (claude, codex):
        assert any(s.parent for s in sessions)
        assert any(s.abandoned for s in sessions)
        assert any(s.compactions for s in sessions)
        assert any(s.headless for s in sessions)
    assert any(s.archived for s in codex)
    assert any(s.path.suffix == ".zst" for s in codex)


def test_one_seed_gives_one_store(tmp_path: Path) -> None:
    def content(name: str, seed: int) -> dict[str, tuple[bytes, int]]:
        write_store(tmp_path / name, sessions=30, megabytes=1, seed=seed)
        files = (path for path in (tmp_path / name).rglob("*") if path.is_file())
        return {
            str(path.relative_to(tmp_path / name)): (path.read_bytes(), path.stat().st_mtime_ns)
            for path in files
            if path.suffix == ".jsonl"
        }

    assert content("a", 1) == content("b", 1)
    assert content("c", 2).keys() != content("a2", 1).keys()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    with pytest.raises(FileExistsError):
        write_store(tmp_path, sessions=1, megabytes=1)


# --- Claude ---------------------------------------------------------------------------------------


def opens_a_turn(record: Record) -> bool:
    content = record.get("message", {}).get("content")
    return (
        record["type"] == "user"
        and isinstance(content, str)
        and not record.get("isMeta")
        and not record.get("isCompactSummary")
    )


def active_chain(path: Path) -> list[Record]:
    """From the last line of the chain up to the first, stepping over compactions."""
    by_uuid: dict[str, Record] = {}
    tip: str | None = None
    for record in records(path):
        if "uuid" in record:
            assert record["uuid"] not in by_uuid
            parent = record["parentUuid"]
            assert parent is None or parent in by_uuid, "children never stand before their parent"
            by_uuid[record["uuid"]] = record
            if record["type"] != "progress":
                tip = record["uuid"]
    chain: list[Record] = []
    while tip is not None:
        record = by_uuid[tip]
        chain.append(record)
        tip = record["parentUuid"] or record.get("logicalParentUuid")
    return chain[::-1]


def test_claude_turns_are_those_of_the_manifest(store: StoreManifest) -> None:
    for session in of(store, "claude"):
        chain = active_chain(session.path)
        assert sum(map(opens_a_turn, chain)) == session.turns
        found = sum(record.get("subtype") == "compact_boundary" for record in chain)
        assert found == session.compactions
        assert {record["sessionId"] for record in chain} == {session.id}


def test_claude_abandoned_turns_are_in_the_file(store: StoreManifest) -> None:
    for session in of(store, "claude"):
        every = sum(opens_a_turn(r) for r in records(session.path) if "uuid" in r)
        assert every == session.turns + session.abandoned


def test_claude_tool_calls_all_have_their_result(store: StoreManifest) -> None:
    for session in of(store, "claude"):
        calls: set[str] = set()
        results: set[str] = set()
        for record in records(session.path):
            content: list[Record] | str | None = record.get("message", {}).get("content")
            for block in content if isinstance(content, list) else ():
                if block["type"] == "tool_use":
                    calls.add(block["id"])
                elif block["type"] == "tool_result":
                    assert block["tool_use_id"] in calls
                    results.add(block["tool_use_id"])
        assert calls == results


def test_claude_forks_share_uuids_with_their_parent(store: StoreManifest) -> None:
    by_id = {session.id: session for session in of(store, "claude")}
    marked = 0
    for child in by_id.values():
        if child.parent is None:
            continue
        parent = {r["uuid"] for r in records(by_id[child.parent].path) if "uuid" in r}
        lines = [r for r in records(child.path) if r.get("uuid") in parent]
        assert sum(map(opens_a_turn, lines)) == child.inherited > 0
        marked += all("forkedFrom" in r for r in lines)
        if "forkedFrom" not in lines[0]:
            prompts = {r["promptId"] for r in lines if "promptId" in r}
            assert len(prompts) == 1, "a --fork-session copy bears one promptId throughout"
    assert marked


def test_claude_subagents_are_linked_to_their_call(store: StoreManifest) -> None:
    metas = list(store.root.glob("claude/projects/*/*/subagents/*.meta.json"))
    assert metas
    for path in metas:
        meta = json.loads(path.read_bytes())
        session = path.parent.parent.with_suffix(".jsonl")
        assert meta["toolUseId"] in session.read_text()
        transcript = path.with_name(path.name.replace(".meta.json", ".jsonl"))
        assert all(r["isSidechain"] for r in records(transcript) if "uuid" in r)


# --- Codex ----------------------------------------------------------------------------------------


def rollout_id(path: Path) -> str:
    return path.name.partition(".")[0][-36:]


def test_codex_files_begin_with_their_metadata(store: StoreManifest) -> None:
    for path in session_files(store.root):
        if path.name.startswith("rollout-"):
            first = next(records(path))
            meta = first.get("payload", first)
            assert meta["id"] == path.name[28 : 28 + 36]


def test_codex_ordinals_go_up_by_one_and_stubs_go_on_from_their_base(store: StoreManifest) -> None:
    stubs = 0
    paths = {rollout_id(p): p for p in session_files(store.root) if p.name.startswith("rollout-")}
    for path in paths.values():
        lines = list(records(path))
        if lines[0].get("payload", {}).get("history_mode") != "paginated":
            continue
        base = lines[0]["payload"].get("history_base")
        first = 0
        if base:
            stubs += 1
            first = base["end_ordinal_exclusive"]
            data = paths[base["thread_id"]].read_bytes()[: base["end_byte_offset"]]
            assert data.endswith(b"\n")
            assert json.loads(data.splitlines()[-1])["ordinal"] == first - 1
        assert [line["ordinal"] for line in lines] == list(range(first, first + len(lines)))
    assert stubs


def test_codex_turns_are_those_of_the_manifest(store: StoreManifest) -> None:
    paths = {rollout_id(p): p for p in session_files(store.root) if p.name.startswith("rollout-")}

    def flat(path: Path) -> list[Record]:
        lines = list(records(path))
        base = lines[0].get("payload", {}).get("history_base")
        if not base:
            return lines
        end = base["end_ordinal_exclusive"]
        return [r for r in flat(paths[base["thread_id"]]) if r["ordinal"] < end] + lines[1:]

    def is_prompt(record: Record) -> bool:
        payload = record.get("payload", record)
        if payload.get("role") != "user":
            return False
        return not payload["content"][0]["text"].startswith(("<environment", "<turn_aborted"))

    for session in of(store, "codex"):
        assert sum(map(is_prompt, flat(session.path))) == session.turns
