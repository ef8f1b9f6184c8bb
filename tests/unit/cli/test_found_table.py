"""Hits as lines: on terminals of any width, in a pipe, and what is said beside them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from prong.app import App
from prong.cli.search.found_notes import print_notes
from prong.cli.search.found_table import FoundTable
from prong.model.code import DiffStat
from prong.model.record import replace
from prong.model.search import Attempt, Hit, IndexState, Passage, SearchRequest, SearchResult
from prong.model.sessions import Session, SessionRef, Turn, TurnKind
from prong.testing.home import IsolatedHome
from prong.views.text import cells

Lines = Callable[..., list[str]]
NOW = datetime.now(UTC)
PROMPT = "Keep the counters in Redis, so that all workers share them"


def ref(number: int) -> SessionRef:
    return SessionRef("claude", f"{number:08x}-1111-4000-8000-000000000000")


def hit(number: int = 1, prompt: str = PROMPT, passage: str = "", *words: str) -> Hit:
    found = Turn(2, "abcdef12-3456", TurnKind.HUMAN, prompt)
    marks = tuple((passage.index(word), passage.index(word) + len(word)) for word in words)
    return Hit(
        Session(ref(number), "/x.jsonl", "Rate limits", "/srv/shop"),
        ref(number),
        found,
        0.914,
        Passage(passage, marks),
        "builtin",
        cwd="/srv/shop",
        date=NOW - timedelta(hours=4, minutes=1),
    )


def result(*hits: Hit, **fields: Any) -> SearchResult:
    index = IndexState(5, 12, 7.0)
    made = SearchResult(SearchRequest("limits"), hits, "builtin", (), index, total=len(hits))
    return replace(made, **fields)


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Lines:
    monkeypatch.setenv("NO_COLOR", "1")

    def lines(found: SearchResult, room: int | None = 80, **options: bool) -> list[str]:
        FoundTable(found, room, **options).print()
        return capsys.readouterr().out.splitlines()

    return lines


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str], isolated_home: IsolatedHome) -> Lines:
    def lines(found: SearchResult, *, numbered: bool = True) -> list[str]:
        with App() as app:
            print_notes(found, app.sessions, app.stores, numbered=numbered)
        out, err = capsys.readouterr()
        assert not out
        return err.splitlines()

    return lines


def test_a_hit_begins_with_what_to_type_for_it(printed: Lines) -> None:
    one = hit(1, PROMPT, "Done with INCR and EXPIRE.", "INCR")
    changed = replace(one.turn, changes=DiffStat(1, 10, 11)) if one.turn else None
    assert printed(result(replace(one, turn=changed), hit(2))) == [
        "%1  0.91  claude:00000001@2  4h ago  +10 -11  /srv/shop",
        f"    {PROMPT}",
        "    Done with INCR and EXPIRE.",
        "%2  0.91  claude:00000002@2  4h ago           /srv/shop",
        f"    {PROMPT}",
    ]


def test_in_a_pipe_nothing_is_cut_and_nothing_padded(printed: Lines) -> None:
    long = hit(1, "word " * 100 + "end", "other " * 100 + "end", "end")
    lines = printed(result(long, hit(2)), None)
    assert lines[0] == "%1  0.91  claude:00000001@2  4h ago  /srv/shop"
    assert lines[1].endswith("word end")
    assert lines[2].endswith("other end")


@pytest.mark.parametrize("room", [20, 30, 45, 60, 79, 80, 120])
def test_every_line_fits(printed: Lines, room: int) -> None:
    hits = [hit(number, "制限 " * 60, "限度 " * 60, "限度") for number in range(1, 13)]
    wordy = replace(
        hits[0],
        also=tuple((ref(number), 3) for number in range(20, 26)),
        more=3,
        warning="the session file is gone and this is a long story about it",
        cwd="/a/very/long/path/to/a/project/that/does/not/fit/anywhere",
    )
    lines = printed(result(wordy, *hits[1:]), room)
    assert max(map(cells, lines)) <= room
    assert sum(line.startswith("%") for line in lines) == 12


def test_a_passage_of_the_prompt_is_not_told_twice(printed: Lines) -> None:
    one = hit(1, PROMPT, "…counters in Redis, so…", "Redis")
    assert len(printed(result(one))) == 2
    # As much of the prompt as it takes.
    assert printed(result(one), 30)[2:] == [
        "    Keep the counters in",
        "    Redis, so that all worker…",
    ]
    # Unless that is too much.
    far = hit(1, f"{'word ' * 99}Redis", "…word word Redis", "Redis")
    assert [line[:14] for line in printed(result(far))[1:]] == ["    word word ", "    …word word"]


def test_matches_are_bold(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    table = FoundTable(result(hit(1, PROMPT, "in Redis", "Redis")), 80)
    [_, prompt] = list(table.lines(1))
    assert prompt.strip().startswith("Keep the counters in \x1b[1mRedis\x1b[0m, so")
    assert not capsys.readouterr().out


def test_copies_and_more_turns(printed: Lines) -> None:
    copies = tuple((ref(number), 2) for number in (2, 3, 4, 5))
    [*_, last] = printed(result(replace(hit(), also=copies, more=2)), 120)
    assert last == (
        "    also in claude:00000002@2, claude:00000003@2, claude:00000004@2 and 1 more; "
        "+2 more turns of this session"
    )


def test_more_turns_of_a_session_are_told_once(printed: Lines) -> None:
    hits = [replace(hit(number), more=2) for number in (1, 1, 2, 1)]
    lines = printed(result(*hits))
    assert [line.strip() for line in lines if "more" in line] == 2 * [
        "+2 more turns of this session"
    ]


def test_a_title_that_is_the_prompt_is_not_told_twice(printed: Lines) -> None:
    one = hit(1, "Rate limits")
    assert len(printed(result(one, query=SearchRequest("limits", by_session=True)))) == 2


def test_a_turn_that_a_rewind_left_has_its_id(printed: Lines) -> None:
    one = hit()
    assert one.turn
    lines = printed(result(replace(one, turn=replace(one.turn, index=None))))
    assert "claude:00000001@abcdef12 " in lines[0]
    assert lines[-1] == "    abandoned by a rewind"


def test_sessions_have_their_titles(printed: Lines) -> None:
    by_session = result(hit(), query=SearchRequest("limits", by_session=True))
    assert printed(by_session)[1:] == ["    Rate limits", f"    {PROMPT}"]
    whole = replace(hit(1, "", "a passage"), turn=None)
    assert printed(result(whole)) == [
        "%1  0.91  claude:00000001  4h ago  /srv/shop",
        "    Rate limits",
        "    a passage",
    ]


def test_a_session_that_is_gone_says_so(printed: Lines) -> None:
    gone = replace(
        hit(1, "", "a passage"), session=None, ref=None, turn=None, source="qmd://x/a.md"
    )
    lines = printed(result(replace(gone, warning="its session file is gone")))
    assert lines[0].startswith("%1  0.91  qmd://x/a.md")
    assert lines[1:] == ["    a passage", "    its session file is gone"]


def test_without_snippets(printed: Lines) -> None:
    one = hit(1, PROMPT, "something else")
    assert len(printed(result(one), snippets=False)) == 2


def test_names_are_long_enough_for_all_sessions(printed: Lines) -> None:
    twin = SessionRef("claude", "00000001-1112-4000-8000-000000000000")
    [first, _] = printed(result(hit(), refs=(ref(1), twin)))
    assert "claude:00000001-1111@2" in first


def test_text_of_sessions_is_harmless(printed: Lines) -> None:
    one = hit(1, "a\x1b[2Jb", "c\x1b]0;x\x07d")
    assert "\x1b" not in "".join(printed(result(one)))


# -- what is said beside the hits ---------------------------------------------------------------


def test_what_to_type_next(said: Lines) -> None:
    assert said(result(hit())) == ["fork a hit: prong fork %1"]
    gone = replace(hit(), session=None)
    assert said(result(gone, hit())) == ["fork a hit: prong fork %2"]
    assert said(result(gone)) == []
    assert said(result(hit()), numbered=False) == []


def test_more_than_the_limit(said: Lines) -> None:
    assert said(result(hit(), total=31))[0] == "30 more: --limit 31"


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (IndexState(5, 12, 7.0, behind=3), "3 sessions not in the index yet; prong index reads"),
        (IndexState(5, 12, 7.0, behind=3, busy=True), "another prong is updating the index"),
    ],
)
def test_an_index_that_is_behind_has_one_note(said: Lines, state: IndexState, text: str) -> None:
    lines = said(result(hit(), index=state))
    assert lines[0].startswith(text)
    assert len(lines) == 2


def test_nothing_found(said: Lines) -> None:
    lines = said(result())
    assert lines == [
        "nothing found for 'limits'",
        "searched 5 sessions with 12 turns, as of 7 s ago",
        "try: other words; prong list shows the newest sessions",
    ]


def test_nothing_found_with_filters(said: Lines) -> None:
    query = SearchRequest(
        "limits", agent="codex", files=("a.py",), has_snapshot=True, min_score=0.5
    )
    lines = said(result(query=query))
    assert lines[0] == (
        "nothing found for 'limits' (--agent codex, --file a.py, --has snapshot, --min-score 0.5)"
    )
    assert lines[2].startswith(
        "try: without --agent and --file and --has and --min-score, or other words"
    )


def test_no_sessions_at_all(said: Lines) -> None:
    lines = said(result(index=IndexState(0, 0, 1.0)))
    assert lines[0].startswith("no sessions under ")
    assert lines[1].endswith("or run: prong demo")


def test_the_story_of_engines(said: Lines) -> None:
    attempts = (
        Attempt("qmd", "query", error="no model", skipped=True),
        Attempt("qmd", "search", error="exit status 139"),
        Attempt("builtin", "turns", hits=1),
    )
    assert said(result(hit(), attempts=attempts))[:-1] == [
        "qmd query was skipped: no model",
        "qmd search failed: exit status 139",
        "the built-in index answered",
    ]


def test_guidance_can_be_read(said: Lines) -> None:
    guidance = {
        "error": "qmd_not_available",
        "message": "qmd is not installed.",
        "next_steps": ["npm install -g @tobilu/qmd", "prong export DIR"],
        "fallback_sessions": [
            {"session_id": "x", "agent": "claude", "project_path": "/srv", "last_modified": ""}
        ],
    }
    lines = said(result(engine=None, guidance=guidance))
    assert lines == [
        "qmd is not installed.",
        "  1. npm install -g @tobilu/qmd",
        "  2. prong export DIR",
        "the newest sessions instead:",
        "  claude:x  /srv",
    ]
    attempts = (Attempt("qmd", "start", error="qmd is not on PATH"), Attempt("builtin", "turns"))
    assert said(result(hit(), guidance=guidance, attempts=attempts))[:-1] == [
        "qmd is not on PATH: the built-in index answered",
        "to set up qmd, step 1 of 2 steps (--json has all): npm install -g @tobilu/qmd",
    ]


def test_filters_can_be_typed_back(said: Lines) -> None:
    midnight = datetime(2026, 11, 1).astimezone()
    query = SearchRequest("limits", since=midnight, files=("a.py", "b.py"))
    lines = said(result(query=query))
    assert lines[0].endswith("(--since 2026-11-01, --file a.py, --file b.py)")
    assert lines[2].startswith("try: without --since and --file, or other words")
    query = SearchRequest("limits", since=midnight + timedelta(hours=9, minutes=5))
    assert "--since 2026-11-01T09:05)" in said(result(query=query))[0]


@pytest.mark.parametrize("room", [30, 80, None])
def test_a_prompt_with_two_spaces_in_a_row(printed: Lines, room: int | None) -> None:
    lines = printed(
        result(hit(1, "Keep  the\u00a0 counters", "Keep the counters", "counters")), room
    )
    assert [line.strip() for line in lines if "Keep" in line] == ["Keep the counters"]


def test_where_not_all_fit_passages_are_shorter(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    long = "something else " * 20
    table = FoundTable(result(*(hit(number, PROMPT, long, "else") for number in range(1, 6))), 60)
    assert table.print(20) == 5
    assert len(capsys.readouterr().out.splitlines()) == 20
    assert table.print(19) == 5
    assert len(capsys.readouterr().out.splitlines()) == 15
    assert table.print(8) == 2
    assert table.print(1) == 1
