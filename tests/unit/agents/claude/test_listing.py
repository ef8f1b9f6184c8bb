"""What a list knows of a session."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from prong.agents.claude.store import ClaudeStore
from prong.errors import Corrupt, NotFound
from prong.storage.scan_cache import NoCache
from prong.testing.home import IsolatedHome
from tests.unit.agents.stores import CWD, START, Claude, RawLine, as_bytes, uuid

ID = uuid(1)


def two_turns(claude: Claude, number: int = 1) -> list[dict[str, Any]]:
    sample = claude.new(number)
    sample.prompt("first prompt\nwith more")
    sample.answer("1")
    sample.prompt("second prompt")
    sample.answer("2")
    return sample.lines


def test_metadata(claude: Claude) -> None:
    path = claude.write(ID, two_turns(claude))
    session = claude.session(ID)
    assert str(session.ref) == f"claude:{ID}"
    assert session.path == path
    assert session.title == "first prompt"
    assert (session.cwd, session.cwds) == (CWD, (CWD,))
    assert (session.branch, session.model) == ("main", "claude-opus-5-5")
    assert (session.entrypoint, session.headless) == ("cli", False)
    assert session.started == START + timedelta(seconds=1)
    assert session.updated == START + timedelta(seconds=6)
    assert (session.turn_count, session.size) == (2, path.stat().st_size)
    assert (session.parent, session.inherited, session.archived) == (None, 0, False)


def side(type_: str, **fields: Any) -> dict[str, Any]:
    return {"type": type_, **fields, "sessionId": ID}


CUSTOM = [side("custom-title", customTitle="old"), side("custom-title", customTitle="mine")]
AI = [side("ai-title", aiTitle="guessed"), side("ai-title", aiTitle="guessed again")]


@pytest.mark.parametrize(
    ("extra", "title"),
    [
        ([*CUSTOM, *AI], "mine"),
        ([*AI, *CUSTOM], "mine"),
        (AI, "guessed again"),
        ([side("custom-title", customTitle=""), *AI], "guessed again"),
        ([side("custom-title", customTitle=7)], "first prompt"),
    ],
)
def test_titles(claude: Claude, extra: list[dict[str, Any]], title: str) -> None:
    claude.write(ID, [*two_turns(claude), *extra])
    assert claude.session(ID).title == title


@pytest.mark.parametrize("leaf", [-1, 2])
def test_a_summary_in_another_file_of_the_project_is_the_title(claude: Claude, leaf: int) -> None:
    lines = two_turns(claude)
    claude.write(ID, lines)
    summary = {"type": "summary", "summary": "told elsewhere", "leafUuid": lines[leaf]["uuid"]}
    other = claude.write(uuid(2), [summary, *two_turns(claude, 2)])
    assert claude.session(ID).title == "told elsewhere"
    assert claude.session(uuid(2)).title == "first prompt"
    other.rename(claude.path(uuid(2), "/w/other").parent.with_name("moved.jsonl"))
    assert claude.session(ID).title == "first prompt"


def test_a_summary_counts_less_than_a_title(claude: Claude) -> None:
    lines = two_turns(claude)
    summary = {"type": "summary", "summary": "summed up", "leafUuid": lines[-1]["uuid"]}
    claude.write(ID, [summary, *lines])
    assert claude.session(ID).title == "summed up"
    claude.write(ID, [summary, *lines, *AI])
    assert claude.session(ID).title == "guessed again"


def test_a_title_is_made_of_what_a_person_said(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("<command-message>init</command-message><command-name>/init</command-name>")
    sample.answer("1")
    claude.write(ID, sample.lines)
    assert claude.session(ID).title == "/init"
    sample.prompt("now the real thing")
    claude.write(ID, sample.lines)
    assert claude.session(ID).title == "now the real thing"


def test_every_folder_and_the_last_branch(claude: Claude) -> None:
    lines = two_turns(claude)
    for line, cwd in zip(lines, ["/a", "/b", "/b", "/a", "/c", "/b"], strict=True):
        line["cwd"] = cwd
    lines[-1]["gitBranch"] = "feature"
    claude.write(ID, lines)
    session = claude.session(ID)
    assert (session.cwd, session.cwds) == ("/b", ("/a", "/c", "/b"))
    assert session.branch == "feature"


@pytest.mark.parametrize(
    ("entrypoints", "shown", "headless"),
    [
        (["cli"], "cli", False),
        (["sdk-cli"], "sdk-cli", True),
        (["sdk-ts"], "sdk-ts", True),
        (["claude-vscode"], "claude-vscode", False),
        (["claude-desktop"], "claude-desktop", False),
        (["sdk-cli", "cli"], "cli", False),
        ([None], None, False),
    ],
)
def test_how_it_was_started(
    claude: Claude, entrypoints: list[str], shown: str | None, headless: bool
) -> None:
    lines = two_turns(claude)
    for number, line in enumerate(lines):
        line["entrypoint"] = entrypoints[min(number, len(entrypoints) - 1)]
    claude.write(ID, lines)
    session = claude.session(ID)
    assert (session.entrypoint, session.headless) == (shown, headless)


SNAPSHOT: dict[str, Any] = {"type": "file-history-snapshot", "messageId": uuid(9), "snapshot": {}}


@pytest.mark.parametrize(
    "lines",
    [
        [SNAPSHOT],
        [{"type": "summary", "summary": "x", "leafUuid": uuid(9)}],
        [{"type": "queue-operation", "operation": "enqueue", "content": "hi"}],
        [{"type": "system", "uuid": uuid(9), "parentUuid": None, "subtype": "informational"}],
        [],
        [b"garbage\n"],
        [b'{"type":"user"'],
    ],
)
def test_what_is_no_conversation_is_skipped_and_said_so(
    claude: Claude, lines: list[RawLine]
) -> None:
    path = claude.write(ID, lines)
    scan = claude.scan()
    assert scan.sessions == ()
    assert [(skip.path, skip.reason) for skip in scan.skipped] == [(path, "no conversation in it")]


def test_a_lone_exit_is_no_conversation(claude: Claude) -> None:
    sample = claude.new()
    text = "<command-name>/exit</command-name>"
    sample.chain("user", message={"role": "user", "content": text})
    sample.lines[-1]["version"] = "2.0.76"
    claude.write(ID, sample.lines)
    assert claude.ids() == set()


def test_the_file_name_is_the_identity(claude: Claude) -> None:
    lines = two_turns(claude)
    claude.write(uuid(5), lines)
    assert claude.ids() == {uuid(5)}
    copy = claude.path(uuid(5)).with_name("my-copy.jsonl")
    claude.path(uuid(5)).rename(copy)
    assert claude.ids() == {"my-copy"}
    session = claude.store.session_at(copy)
    assert session
    assert session.id == ID


def test_other_files_are_left_alone(claude: Claude) -> None:
    path = claude.write(ID, two_turns(claude))
    (path.parent / "notes.txt").write_text("x", encoding="utf-8")
    (path.parent / "memory").mkdir()
    (path.parent / f"{uuid(7)}.jsonl").mkdir()
    (path.parent / f"{uuid(8)}.jsonl").symlink_to("/nowhere")
    (claude.root / "projects" / "file.jsonl").write_bytes(path.read_bytes())
    assert claude.ids() == {ID}
    assert claude.scan().complete


def test_a_link_to_a_session_is_followed(claude: Claude, tmp_path: Path) -> None:
    path = claude.write(ID, two_turns(claude))
    path.rename(tmp_path / "elsewhere.jsonl")
    path.symlink_to(tmp_path / "elsewhere.jsonl")
    assert claude.ids() == {ID}


def test_several_roots(tmp_path: Path) -> None:
    one, two = Claude(tmp_path / "one"), Claude(tmp_path / "two")
    one.write(uuid(1), two_turns(one, 1))
    two.write(uuid(2), two_turns(two, 2))
    store = ClaudeStore([one.root, two.root, tmp_path / "missing"])
    assert {session.id for session in store.scan(NoCache()).sessions} == {uuid(1), uuid(2)}


def test_without_roots_it_looks_where_the_cli_does(isolated_home: IsolatedHome) -> None:
    assert ClaudeStore().roots == (isolated_home.claude,)
    assert ClaudeStore([]).roots == (isolated_home.claude,)


def test_a_session_file_anywhere(claude: Claude, tmp_path: Path) -> None:
    path = tmp_path / f"{ID}.jsonl"
    path.write_bytes(as_bytes(two_turns(claude)))
    session = claude.store.session_at(path)
    assert session
    assert (session.id, session.turn_count, session.path) == (ID, 2, path)
    assert len(claude.store.conversation(session).turns) == 2


@pytest.mark.parametrize("data", [b"", b"garbage\n", b"\x00" * 4096])
def test_a_file_of_which_nothing_can_be_used(tmp_path: Path, claude: Claude, data: bytes) -> None:
    path = tmp_path / f"{ID}.jsonl"
    path.write_bytes(data)
    with pytest.raises(Corrupt):
        claude.store.session_at(path)


def test_a_file_of_another_format(tmp_path: Path, claude: Claude) -> None:
    path = tmp_path / f"{ID}.jsonl"
    path.write_bytes(b'{"type":"session_meta","payload":{"id":"x"}}\n{"other":1}\n')
    assert claude.store.session_at(path) is None


def test_a_session_that_went_away(claude: Claude) -> None:
    path = claude.write(ID, two_turns(claude))
    session = claude.session(ID)
    path.unlink()
    for ask in (
        lambda: claude.store.conversation(session),
        lambda: list(claude.store.messages(session)),
        lambda: list(claude.store.raw(session)),
        lambda: claude.store.session_at(path),
    ):
        with pytest.raises(NotFound):
            ask()


def test_a_session_that_became_unreadable(claude: Claude) -> None:
    path = claude.write(ID, two_turns(claude))
    session = claude.session(ID)
    path.write_bytes(b"garbage\n")
    with pytest.raises(Corrupt):
        claude.store.conversation(session)
    path.unlink()
    path.mkdir()
    with pytest.raises(Corrupt):
        claude.store.conversation(session)


def test_bad_lines_are_reported_with_their_offset(claude: Claude) -> None:
    lines = two_turns(claude)
    path = claude.write(ID, [*lines[:2], b"garbage\n", *lines[2:], b'{"type":"us'])
    conversation = claude.conversation(ID)
    assert len(conversation.turns) == 2
    data = path.read_bytes()
    assert [(skip.path, skip.offset, skip.reason) for skip in conversation.skipped] == [
        (path, data.index(b"garbage"), "not a JSON object"),
        (path, data.rindex(b"{"), "unfinished last line"),
    ]


def test_a_session_without_times_has_that_of_its_file(claude: Claude) -> None:
    lines = two_turns(claude)
    for line in lines:
        del line["timestamp"]
    path = claude.write(ID, lines)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    session = claude.session(ID)
    assert (session.started, session.updated) == (None, datetime.fromtimestamp(1_700_000_000, UTC))


@pytest.mark.parametrize(
    ("settings", "days", "source"),
    [
        (None, 30, "default"),
        ({"cleanupPeriodDays": 99}, 99, "settings.json"),
        ({"cleanupPeriodDays": "x"}, 30, "default"),
        ({}, 30, "default"),
    ],
)
def test_retention(claude: Claude, settings: Any, days: int, source: str) -> None:
    claude.root.mkdir(parents=True)
    if settings is not None:
        (claude.root / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    retention = ClaudeStore([claude.root]).retention(claude.root)
    assert retention
    assert retention.days == days
    assert source in retention.source


def test_samples(claude: Claude) -> None:
    ref = ClaudeStore([claude.root]).write_samples(CWD, START)
    scan = claude.scan()
    assert ref in {session.ref for session in scan.sessions}
    assert scan.skipped == ()


def test_a_summary_names_the_last_answer_though_other_lines_follow_it(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("first prompt")
    sample.answer("old end")
    old = sample.lines[-2]["uuid"]
    sample.prompt("second prompt")
    sample.answer("new end")
    new = sample.lines[-2]["uuid"]
    summaries = [
        {"type": "summary", "summary": "new title", "leafUuid": new},
        {"type": "summary", "summary": "old title", "leafUuid": old},
    ]
    path = claude.write(ID, [*summaries, *sample.lines])
    assert claude.session(ID).title == "new title"
    by_path = claude.store.session_at(path)
    assert by_path is not None
    assert by_path.title == "new title"
