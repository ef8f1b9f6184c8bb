"""What is typed for a search: filters are taken out, everything else is text."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prong.search.query import ParsedQuery, parse

AGENTS = ("claude", "codex")


def parsed(*words: str) -> ParsedQuery:
    return parse(words, AGENTS)


def test_words_are_the_text() -> None:
    for words in (("add", "rate", "limiting"), ("add rate limiting",), ("  add  rate", "limiting")):
        assert parsed(*words) == ParsedQuery("add rate limiting")


def test_every_filter_wherever_it_stands() -> None:
    found = parsed("agent:codex", "parser", "project:~/shop", "for", "file:a.py", "lists")
    assert found == ParsedQuery("parser for lists", "codex", "~/shop", None, ["a.py"])
    assert parsed("agent:codex parser project:~/shop for file:a.py lists") == found


def test_since() -> None:
    now = datetime.now(UTC)
    since = parsed("limits since:3d").since
    assert since
    assert abs(now - timedelta(days=3) - since) < timedelta(minutes=1)
    assert parsed("since:2026-01-02T00:00:00Z").since == datetime(2026, 1, 2, tzinfo=UTC)
    assert parsed("since:yesterday").since
    assert parsed('since:"2026-01-02 10:00Z" x').since == datetime(2026, 1, 2, 10, tzinfo=UTC)


def test_several_files() -> None:
    assert parsed("file:a.py file:src/").files == ["a.py", "src/"]


def test_names_of_filters_and_agents_in_any_case() -> None:
    assert parsed("Agent:Claude FILE:A.py").agent == "claude"
    assert parsed("Agent:Claude FILE:A.py").files == ["A.py"]


def test_quotes_hold_a_value_together() -> None:
    found = parsed('limits file:"a b.py" project:"/my shop" redis')
    assert found == ParsedQuery("limits redis", None, "/my shop", None, ["a b.py"])


def test_quotes_that_the_shell_took_away_hold_it_together_as_well() -> None:
    assert parsed("limits", "file:a b.py") == ParsedQuery("limits", files=["a b.py"])
    # One word is the whole query, quoted.
    assert parsed("file:a.py limits") == ParsedQuery("limits", files=["a.py"])


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/a?b=c",
        "file:///etc/hosts",
        "file://server/share",
        "std::vector",
        "file::read",
        "foo:bar",
        "agent: claude",
        "project:",
        'file:""',
        'file:" "',
        'file:"a b.py',
        'file:"a"b',
        "user-agent:claude",
        "my.agent:claude",
        "(agent:claude)",
        "12:30",
        "C:\\Users",
        '"rate limiting"',
    ],
)
def test_what_only_looks_like_a_filter_is_text(text: str) -> None:
    assert parsed(text) == ParsedQuery(text)
    assert parsed("limits", text).text == f"limits {text}"


def test_has_snapshot() -> None:
    assert parsed("limits HAS:Snapshot") == ParsedQuery("limits", has_snapshot=True)
    assert parsed("before:insert until:done") == ParsedQuery("before:insert until:done")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("has:tests", "only has:snapshot"),
        ("before:3d", "only since:"),
        ("until:2026-01-01", "only since:"),
        ("agent:cursor", "the agents are claude, codex"),
        ("since:soon", "try 3d"),
        ("since:99999999999999999999999999999999999z", "try 3d"),
    ],
)
def test_a_filter_with_a_wrong_value_is_text_and_that_is_said(text: str, why: str) -> None:
    found = parsed(f"{text} limits")
    assert (found.text, found.agent, found.since) == (f"{text} limits", None, None)
    [note] = found.notes
    assert note.startswith(f"{text} is searched as text")
    assert why in note


def test_the_second_of_a_kind_is_text_and_that_is_said() -> None:
    found = parsed("agent:claude agent:codex since:3d since:2d project:a project:b")
    assert (found.agent, found.project) == ("claude", "a")
    assert found.text == "agent:codex since:2d project:b"
    assert len(found.notes) == 3


words = st.lists(
    st.text()
    | st.sampled_from(
        ["agent:claude", "agent:x", 'file:"a b"', "file:", "since:3d", "since:", "project:~"]
    )
    | st.from_regex(r'\A(agent|project|since|file|has|before):"?[^\n]{0,8}"?\Z')
)


@given(words)
@example(["file:\x85a"])
@example(["file:a", 'b"', 'file:"c'])
def test_nothing_raises_and_nothing_gets_lost(typed: list[str]) -> None:
    found = parse(typed, AGENTS)
    kept = [found.text, *found.files, found.project or "", found.agent or ""]
    missing = list("".join("".join(kept).split()).lower())
    rest: list[str] = []
    for character in "".join("".join(typed).split()).lower():
        if character in missing:
            missing.remove(character)
        else:
            rest.append(character)
    assert not missing
    # What is not there any more are the names of filters, their quotes, and one time.
    count = len(found.files) + sum(1 for one in (found.project, found.agent, found.since) if one)
    snapshots = len('has:"snapshot"') * len(typed) if found.has_snapshot else 0
    assert len(rest) <= count * len('project:""') + (16 if found.since else 0) + snapshots


@given(st.text(alphabet=st.characters(exclude_characters=":")))
def test_text_without_colons_stays_as_it_is(text: str) -> None:
    assert parse([text], AGENTS) == ParsedQuery(" ".join(text.split()))
