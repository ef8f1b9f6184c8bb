"""The engine, with a program that stands in for qmd: every way in which a search can go wrong."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from prong.model.search import Answer, SearchRequest
from prong.search.qmd.engine import QmdEngine, Timeouts, content_words, one_line, shorter
from tests.unit.search.stand_in import NEEDS, ROW, ROWS, SESSION, StandIn

QUERY = SearchRequest("token bucket")
SHORT = Timeouts(query=0.5, vsearch=0.5, search=0.5)
LONG = Timeouts(query=60, vsearch=60, search=60)


@pytest.fixture
def qmd(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path)


def story(answer: Answer) -> list[tuple[str, str | None, int | None]]:
    return [(attempt.mode, attempt.error, attempt.hits) for attempt in answer.attempts]


# -- the good path -----------------------------------------------------------------------------


def test_the_first_way_that_finds_something_is_enough(qmd: StandIn) -> None:
    qmd.add_model()
    qmd.prints("query", ROWS, "Expanding query...\n")
    answer = qmd.engine().search(QUERY)
    assert answer.ok
    assert story(answer) == [("query", None, 1)]
    found = answer.found[0]
    assert (found.score, found.session_id) == (0.49, SESSION)
    assert found.source == f"qmd://claude-sessions/private-tmp/{SESSION}.md"
    assert found.passage is not None
    assert found.passage.text == "A token bucket for the API."
    assert [found.passage.text[slice(*mark)] for mark in found.passage.marks] == ["token", "bucket"]


def test_the_command_is_written_down_as_one_would_type_it(qmd: StandIn) -> None:
    qmd.add_model()
    qmd.prints("query", ROWS)
    (attempt,) = qmd.engine(collection="mine").search(QUERY).attempts
    assert attempt.command == (
        *("qmd", "query", "--json", "-n", "50", "-c", "mine"),
        *("--", "token bucket"),
    )
    assert qmd.calls == ["query --json -n 50 -c mine -- token bucket"]
    assert 0 < attempt.seconds < 60


def test_the_collection_is_the_querys(qmd: StandIn) -> None:
    qmd.prints("search", ROWS)
    qmd.engine().search(SearchRequest("token", collection="work", limit=30))
    assert qmd.calls == ["search --json -n 150 -c work -- token"]


def test_without_a_model_only_words_are_searched(qmd: StandIn) -> None:
    qmd.does("query", "sleep 600")
    qmd.does("vsearch", "sleep 600")
    qmd.prints("search", ROWS)
    answer = qmd.engine(LONG).search(QUERY)
    assert answer.ok
    query, vsearch, search = answer.attempts
    assert query.skipped
    assert vsearch.skipped
    assert not search.skipped
    assert str(qmd.home / ".cache/qmd/models") in (query.error or "")
    assert search.hits == 1
    assert len(qmd.calls) == 1


def test_each_way_is_tried_after_the_one_before_failed(qmd: StandIn) -> None:
    qmd.add_model()
    qmd.prints("query", "", "SQLiteError: no such column: claude\n    at x.js:1\n", status=1)
    qmd.prints("vsearch", "[]\n", NEEDS)
    qmd.prints("search", ROWS)
    answer = qmd.engine().search(QUERY)
    assert answer.ok
    assert story(answer) == [
        ("query", "SQLiteError: no such column: claude", None),
        ("vsearch", NEEDS.strip(), None),
        ("search", None, 1),
    ]


def test_no_hits_are_no_failure_but_the_next_way_is_tried(qmd: StandIn) -> None:
    qmd.add_model()
    qmd.prints("query", "[]\n")
    qmd.prints("vsearch", "[]\n")
    qmd.prints("search", ROWS)
    assert story(qmd.engine().search(QUERY)) == [
        ("query", None, 0),
        ("vsearch", None, 0),
        ("search", None, 1),
    ]


def test_nothing_found_anywhere_is_left_to_the_next_engine(qmd: StandIn) -> None:
    qmd.prints("search", "[]\n", NEEDS)
    answer = qmd.engine().search(QUERY)
    assert not answer.ok
    assert not answer.found
    assert [attempt.hits for attempt in answer.attempts] == [None, None, 0, 0, 0]


# -- fewer words -------------------------------------------------------------------------------


def test_fewer_words_are_tried_until_something_is_found(qmd: StandIn) -> None:
    (qmd.bin / "rows").write_text(ROWS)
    qmd.does(
        "search",
        f'case "$*" in *"-- limiting") cat {qmd.bin}/rows;; *) echo "[]";; esac',
    )
    answer = qmd.engine().search(SearchRequest("add the rate limiting to an API please"))
    assert answer.ok
    searches = [attempt for attempt in answer.attempts if attempt.mode == "search"]
    assert searches[0].command[-1] == "add the rate limiting to an API please"
    assert [len(attempt.command[-1].split()) for attempt in searches[-3:]] == [3, 2, 1]
    assert [attempt.hits for attempt in searches[-3:]] == [0, 0, 1]


def test_a_search_that_fails_is_not_tried_with_fewer_words(qmd: StandIn) -> None:
    qmd.prints("search", "", "database is locked\n", status=1)
    answer = qmd.engine().search(SearchRequest("rate limiting token bucket"))
    assert [mode for mode, _, _ in story(answer)] == ["query", "vsearch", "search"]
    assert story(answer)[-1] == ("search", "database is locked", None)


@pytest.mark.parametrize(
    ("text", "tries"),
    [
        ("bucket", []),
        ("token bucket", ["bucket", "token"]),
        (
            "Fix the parse_json test",
            ["Fix parse_json test", "parse_json test", "parse_json", "test", "Fix"],
        ),
        (
            "fix the HttpClient in a big and slow file",
            [
                "fix HttpClient big slow file",
                "HttpClient big slow",
                "HttpClient slow",
                "HttpClient",
                "slow",
                "big",
            ],
        ),
        ("the of", ["the", "of"]),
        ("src/limit.py", ["src limit py", "src limit", "limit", "src", "py"]),
        ("bucket bucket BUCKET", ["bucket"]),
        ("一二三", []),
        ("!!!", []),
    ],
)
def test_the_rarest_words_stay(text: str, tries: list[str]) -> None:
    assert list(shorter(text)) == tries


def test_words_count_once_and_keep_their_order() -> None:
    assert content_words("The bucket, the Token; bucket's token in redis_7") == [
        "bucket",
        "Token",
        "bucket's",
        "redis_7",
    ]


# -- faults ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("kill -KILL $$", "killed by SIGKILL"),
        ("kill -SEGV $$", "killed by SIGSEGV"),
        ("echo '[]'; kill -SEGV $$", "killed by SIGSEGV"),
        ("exit 139", "killed by SIGSEGV"),
        ("echo 'panic: oh' >&2; exit 134", "killed by SIGABRT: panic: oh"),
        ("exit 3", "ended with status 3"),
        ("exit 255", "ended with status 255"),
        ("echo '[]'; exit 1", "ended with status 1"),
        ("echo 'Error: bun not found.' >&2; exit 1", "Error: bun not found."),
        ("true", "it printed nothing"),
        ("echo hello", "it did not print JSON: hello"),
        ('printf \'[{"file": "qmd://a/b.md", \'', "it did not print JSON: "),
        ("head -c 100000 /dev/urandom", "it did not print JSON: "),
        ("head -c 100000 /dev/zero", "it did not print JSON: "),
        ("yes '[[[[[[{' | head -n 100000", "it did not print JSON: "),
        ("printf '%s' '{\"error\": \"no index\"}'", "no index"),
    ],
)
def test_a_fault_is_written_down(qmd: StandIn, script: str, error: str) -> None:
    qmd.does("search", script)
    answer = qmd.engine(LONG).search(QUERY)
    assert not answer.ok
    assert not answer.found
    attempt = answer.attempts[-1]
    assert (attempt.mode, attempt.hits) == ("search", None)
    assert (attempt.error or "").startswith(error)
    assert len(attempt.error or "") < 400


def test_what_hangs_is_killed_with_all_that_it_started(qmd: StandIn) -> None:
    qmd.add_model()
    qmd.does("query", f"sleep 600 & echo $! > {qmd.home}/child; echo $$ > {qmd.home}/pid; wait")
    qmd.prints("search", ROWS)
    answer = qmd.engine(Timeouts(query=1, vsearch=60, search=60)).search(QUERY)
    assert answer.ok
    assert answer.attempts[0].error == "did not end within 1 s"
    assert answer.attempts[0].seconds < 30
    assert gone(qmd.home / "pid")
    assert gone(qmd.home / "child")


def test_a_child_that_holds_the_output_open_is_not_waited_for(qmd: StandIn) -> None:
    (qmd.bin / "rows").write_text(ROWS)
    qmd.does("search", f"sleep 600 & echo $! > {qmd.home}/child; cat {qmd.bin}/rows")
    answer = qmd.engine(LONG).search(QUERY)
    assert answer.ok
    assert answer.attempts[-1].seconds < 30
    assert gone(qmd.home / "child")


def test_a_child_that_has_nothing_open_does_not_stay(qmd: StandIn) -> None:
    """The pipes are closed before the program ends: nothing of them tells of the child."""
    (qmd.bin / "rows").write_text(ROWS)
    qmd.does(
        "search",
        f"sleep 600 >/dev/null 2>&1 & echo $! > {qmd.home}/child; cat {qmd.bin}/rows\n"
        "exec >/dev/null 2>&1; sleep 0.05",
    )
    assert qmd.engine(LONG).search(QUERY).ok
    assert gone(qmd.home / "child")


def test_a_child_that_left_the_group_is_not_waited_for_either(qmd: StandIn) -> None:
    (qmd.bin / "rows").write_text(ROWS)
    qmd.does(
        "search",
        f"setsid sh -c 'echo $$ > {qmd.home}/child; exec sleep 600' &\n"
        f"while [ ! -s {qmd.home}/child ]; do :; done; cat {qmd.bin}/rows",
    )
    try:
        answer = qmd.engine(LONG).search(QUERY)
        assert answer.ok
        assert answer.attempts[-1].seconds < 30
    finally:
        os.kill(int((qmd.home / "child").read_text()), 9)


def test_what_closes_its_output_and_stays_is_killed(qmd: StandIn) -> None:
    qmd.does("search", f"echo $$ > {qmd.home}/pid; exec sleep 600 >&- 2>&-")
    answer = qmd.engine(SHORT).search(QUERY)
    assert answer.attempts[-1].error == "did not end within 0.5 s"
    assert gone(qmd.home / "pid")


def test_output_without_end_is_cut_off(qmd: StandIn) -> None:
    qmd.does("search", f'echo $$ > {qmd.home}/pid; exec yes \'[{{"file": "a"}},\'')
    answer = qmd.engine(LONG).search(QUERY)
    assert answer.attempts[-1].error == "printed more than 32 MB"
    assert answer.attempts[-1].seconds < 30
    assert gone(qmd.home / "pid")


def test_complaints_without_end_are_not_kept(qmd: StandIn) -> None:
    (qmd.bin / "rows").write_text(ROWS)
    qmd.does("search", f"yes 'a warning' | head -c 5000000 >&2; cat {qmd.bin}/rows")
    assert qmd.engine(LONG).search(QUERY).ok


def test_long_answers_are_read_to_the_end(qmd: StandIn) -> None:
    rows = [{**ROW, "file": f"qmd://c/{n}.md", "snippet": "token " * 10_000} for n in range(100)]
    qmd.prints("search", json.dumps(rows))
    answer = qmd.engine(LONG).search(QUERY)
    assert len(answer.found) == 100
    assert all(found.passage and len(found.passage.text) < 1000 for found in answer.found)


def test_it_is_not_there(tmp_path: Path) -> None:
    engine = QmdEngine(env={"PATH": str(tmp_path), "HOME": str(tmp_path)})
    answer = engine.search(QUERY)
    assert not answer.ok
    assert story(answer) == [("start", "qmd is not on PATH", None)]


def test_it_has_no_interpreter(qmd: StandIn) -> None:
    (qmd.bin / "qmd").write_text("#!/nowhere/bun\n")
    answer = qmd.engine().search(QUERY)
    assert not answer.ok
    ((mode, error, _),) = story(answer)[2:]
    assert mode == "start"
    assert error == "cannot run qmd: does not start: No such file or directory"


def test_its_interpreter_is_not_on_path(qmd: StandIn) -> None:
    qmd.add_model()
    (qmd.bin / "qmd").write_text("#!/usr/bin/env no-such-node\n")
    answer = qmd.engine().search(QUERY)
    ((mode, error, _),) = story(answer)
    assert mode == "start"
    assert "no-such-node" in (error or "")


def test_a_collection_that_is_not_there_ends_the_search(qmd: StandIn) -> None:
    qmd.add_model()
    noise = "Cannot find package 'sqlite-vec-linux-x64'\n"
    for mode in ("query", "vsearch", "search"):
        qmd.prints(mode, "", f"{noise}Collection not found: claude-sessions\n", status=1)
    answer = qmd.engine().search(QUERY)
    assert not answer.ok
    assert story(answer) == [("query", "Collection not found: claude-sessions", None)]


def test_an_interrupt_takes_qmd_along(qmd: StandIn) -> None:
    """Ctrl-C reaches only us: qmd is in a process group of its own."""
    pid = qmd.home / "pid"
    qmd.does("search", f"echo $$ > {pid}; exec sleep 600")

    def interrupt() -> None:
        await_file(pid)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        qmd.engine(LONG).search(QUERY)
    assert gone(pid)


# -- texts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nb\r\n c\0d", "a b c d"),
        ("--help me", "help me"),
        ("- -x", "x"),
        ("multi-agent -v", "multi-agent -v"),
        ("\u2028lone \ud800 half", "lone half"),
        ("\x1b[31mred", "[31mred"),
        ("--- --", ""),
        ("", ""),
        ("word " * 1000, ("word " * 400).strip()),
        ("x" * 5000, "x" * 2000),
    ],
)
def test_a_text_becomes_a_line(text: str, line: str) -> None:
    assert one_line(text) == line


@pytest.mark.parametrize("text", ["", " \n", "--", "\0", "!!!"])
def test_without_words_nobody_is_asked(qmd: StandIn, text: str) -> None:
    answer = qmd.engine().search(SearchRequest(text))
    assert not answer.ok
    assert answer.attempts[0].skipped
    assert not qmd.calls


# -- rows --------------------------------------------------------------------------------------


def export(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_the_header_of_the_export_says_whose_it_is(qmd: StandIn, tmp_path: Path) -> None:
    qmd.add_collection(tmp_path / "exports")
    export(
        tmp_path / "exports",
        f"private-tmp/{SESSION}.md",
        "# Limits\n\n- **Session ID:** 01234567-c4ea-4d6d-8da1-21732781ce4d\n"
        "- **Working Directory:** /private/tmp\n- **Date:** 2026-01-07T00:11:47.756Z\n"
        "- **Agent:** codex\n\n## 1\n\nSession ID: 99999999\n",
    )
    qmd.prints("search", ROWS)
    (found,) = qmd.engine().search(QUERY).found
    assert found.session_id == "01234567-c4ea-4d6d-8da1-21732781ce4d"
    assert (found.agent, found.cwd) == ("codex", "/private/tmp")
    assert found.date == "2026-01-07T00:11:47.756Z"


def test_the_name_of_the_file_is_the_second_source(qmd: StandIn, tmp_path: Path) -> None:
    qmd.add_collection(tmp_path / "exports")
    export(tmp_path / "exports", f"private-tmp/{SESSION}.md", "# Limits\n\nno header\n")
    qmd.prints("search", ROWS)
    (found,) = qmd.engine().search(QUERY).found
    assert (found.session_id, found.cwd) == (SESSION, None)


def test_a_piece_is_a_header_only_when_it_is_the_beginning(qmd: StandIn) -> None:
    text = "Session ID: 01234567-c4ea-4d6d-8da1-21732781ce4d\ntoken bucket"
    rows = [
        {"file": "qmd://c/one.md", "score": 0.9, "snippet": f"@@ -1,2 @@ (0 before)\n{text}"},
        {"file": "qmd://c/two.md", "score": 0.8, "snippet": f"@@ -9,2 @@ (8 before)\n{text}"},
        {"file": "qmd://c/three.md", "score": 0.7, "snippet": text},
    ]
    qmd.prints("search", json.dumps(rows))
    ids = [found.session_id for found in qmd.engine().search(QUERY).found]
    assert ids == ["01234567-c4ea-4d6d-8da1-21732781ce4d", None, None]


def test_the_turn_is_told_where_the_export_has_it(qmd: StandIn, tmp_path: Path) -> None:
    qmd.add_collection(tmp_path)
    time = "2026-01-07T00:11:47.756Z"
    text = f"# T\n\nSession ID: x\nDate: D\n\n## Turn 4: Go\n\nTime: {time}\n\n> a token bucket\n"
    row = {
        "file": "qmd://claude-sessions/a.md",
        "score": 0.5,
        "line": 10,
        "snippet": "@@ -9,3 @@ (8 before, 0 after)\n\n> a token bucket\n",
    }
    qmd.prints("search", json.dumps([row]))
    export(tmp_path, "a.md", text)
    (found,) = qmd.engine().search(QUERY).found
    assert (found.turn_number, found.date) == (4, time)
    assert found.passage is not None
    assert found.passage.text == "a token bucket"
    for old, new in (("## Turn 4", "## 4"), ("a token", "my token"), (f"Time: {time}", "")):
        export(tmp_path, "a.md", text.replace(old, new))
        (found,) = qmd.engine().search(QUERY).found
        assert (found.turn_number, found.date) == (None, "D")


@pytest.mark.parametrize(("line", "first"), [(3, 6), (99, 6), (0, 6), (-1, 6), (None, 6), ("7", 6)])
def test_a_line_that_cannot_be_is_no_turn(
    qmd: StandIn, tmp_path: Path, line: object, first: int
) -> None:
    qmd.add_collection(tmp_path)
    export(tmp_path, "a.md", "## Turn 4: Go\n\nTime: T\n\n" + "> a token bucket\n" * 20)
    row = {"file": "qmd://claude-sessions/a.md", "line": line}
    qmd.prints("search", json.dumps([{**row, "snippet": f"@@ -{first},1 @@\n> a token bucket"}]))
    (found,) = qmd.engine().search(QUERY).found
    assert found.turn_number is None


def test_paths_on_disk_are_read_too(qmd: StandIn, tmp_path: Path) -> None:
    export(tmp_path, "a.md", "Session ID: one\n")
    export(tmp_path, "b.md", "Session ID: two\n")
    rows = [
        {"file": str(tmp_path / "a.md"), "score": 1, "snippet": "x"},
        {"file": f".{tmp_path}/b.md", "score": 0.5, "snippet": "x"},
        {"file": str(tmp_path / "gone.md"), "score": 0.2, "body": "Session ID: three\n"},
        {"file": "/a\0b", "score": 0.1, "snippet": "x"},
    ]
    qmd.prints("search", json.dumps(rows))
    ids = [found.session_id for found in qmd.engine().search(QUERY).found]
    assert ids == ["one", "two", "three", None]


def test_an_address_does_not_lead_out_of_the_collection(qmd: StandIn, tmp_path: Path) -> None:
    qmd.add_collection(tmp_path / "exports")
    export(tmp_path, "secret.md", "Session ID: stolen\n")
    export(tmp_path, "exports/named.md", "Session ID: fine\n")
    rows = [
        {"file": "qmd://claude-sessions/../secret.md", "score": 1},
        {"file": "qmd://claude-sessions/named.md?index=work", "score": 0.5},
    ]
    qmd.prints("search", json.dumps(rows))
    ids = [found.session_id for found in qmd.engine().search(QUERY).found]
    assert ids == [None, "fine"]


def test_a_session_is_found_once_at_its_best(qmd: StandIn) -> None:
    rows = [
        {"file": f"qmd://c/a/{SESSION}.md", "score": 0.4, "snippet": "worse"},
        {"file": f"qmd://c/b/{SESSION.upper()}.md", "score": 0.9, "snippet": "better"},
        {"file": "qmd://c/other.md", "score": 0.5},
    ]
    qmd.prints("search", json.dumps(rows))
    found = qmd.engine().search(QUERY).found
    assert [(one.session_id, one.score) for one in found] == [(SESSION, 0.9), (None, 0.5)]


# -- helpers -----------------------------------------------------------------------------------


def await_file(path: Path) -> int:
    deadline = time.monotonic() + 60
    while not (path.exists() and path.read_text().strip()):
        assert time.monotonic() < deadline, f"{path} was not written"
        time.sleep(0.01)
    return int(path.read_text())


def gone(pid_file: Path) -> bool:
    """True once the process is no more: killed, it may be there for another moment."""
    pid = await_file(pid_file)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").exists() and ") Z " in Path(f"/proc/{pid}/stat").read_text():
            return True  # nobody reaps an orphan where there is no init
        time.sleep(0.01)
    return False
