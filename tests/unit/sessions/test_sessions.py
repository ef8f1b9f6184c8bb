"""The Python API of listing: `App().list_sessions(...)`."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from prong import App
from prong.agents.base import AgentStore, ScanCache
from prong.errors import NotFound
from prong.model.record import replace
from prong.model.sessions import Scan, Session, SessionRef, Skipped
from prong.session.listing import Listing, Scanner, SessionFilter
from prong.storage.scan_cache import NoCache
from prong.testing.home import IsolatedHome

START = datetime(2026, 1, 1, tzinfo=UTC)


class Fixed:
    """A store with given sessions."""

    def __init__(self, *sessions: Session, skipped: tuple[Skipped, ...] = ()) -> None:
        self.found = Scan(sessions, skipped)

    def scan(self, cache: ScanCache) -> Scan:
        return self.found


def session(name: str, day: int | None = 0, **more: Any) -> Session:
    updated = START + timedelta(days=day) if day is not None else None
    more = {"file": f"/{name}", "cwds": ("/srv",), **more}
    return Session(SessionRef("claude", name), title=name, updated=updated, **more)


def listing(*sessions: Session, **wanted: Any) -> Listing:
    return scanned({"claude": Fixed(*sessions)}, **wanted)


def scanned(stores: Mapping[str, object], **wanted: Any) -> Listing:
    scanner = Scanner(cast(Mapping[str, AgentStore], stores), NoCache())
    return scanner.listing(SessionFilter(**wanted))


def names(found: Listing) -> list[str]:
    return [one.id for one in found.sessions]


def test_newest_first_and_those_without_a_time_last() -> None:
    assert names(listing(session("a", 1), session("none", None), session("b", 2))) == [
        "b",
        "a",
        "none",
    ]


def test_since_includes_the_moment_itself() -> None:
    sessions = [session("a", 1), session("b", 2), session("none", None)]
    assert names(listing(*sessions, since=START + timedelta(days=2))) == ["b"]


def test_counts() -> None:
    sessions = [session("a", 3), session("b", 2), session("c", 1), session("d", archived=True)]
    found = listing(*sessions, session("e", headless=True), limit=2)
    assert names(found) == ["a", "b"]
    assert (found.total, found.hidden, found.more) == (5, 2, 1)
    found = listing(*sessions, everything=True)
    assert (len(found.sessions), found.hidden, found.more) == (4, 0, 0)


@pytest.mark.parametrize(
    ("folder", "fits"),
    [("/srv", True), ("/", True), ("/srv/", True), ("/sr", False), ("/srv/x", False)],
)
def test_project(folder: str, fits: bool) -> None:
    assert bool(listing(session("a"), project=Path(folder)).sessions) is fits


def test_a_plug_in_that_gives_a_list_of_folders() -> None:
    given: Any = ["/srv", "/srv/x"]
    found = listing(replace(session("a"), cwds=given), project=Path("/srv"))
    assert len(found.sessions) == 1


def test_the_newest_copy_counts_then_the_larger_one() -> None:
    old, new = session("a", 1, file="/old"), session("a", 2, file="/new")
    for pair in ((old, new), (new, old)):
        found = listing(*pair)
        assert [one.file for one in found.sessions] == ["/new"]
        assert found.copies == (Skipped(Path("/old"), "a copy of /new"),)
        assert found.total == 1
    small, large = session("a", file="/small", size=1), session("a", file="/large", size=2)
    assert listing(small, large).sessions == (large,)


def test_a_file_without_conversation_is_skipped_but_not_unusable() -> None:
    none = Skipped(Path("/a"), "no conversation in it", harmless=True)
    broken = Skipped(Path("/b"), "Permission denied")
    found = scanned({"claude": Fixed(skipped=(none, broken))})
    assert found.skipped == (none, broken)
    assert found.unusable == (broken,)


def test_an_unknown_agent_is_an_error_in_the_api_too(isolated_home: IsolatedHome) -> None:
    with pytest.raises(NotFound, match="unknown agent 'cursor'"):
        App().sessions.list(SessionFilter(agent="cursor"))


def test_a_built_in_agent_that_fails_is_a_bug_and_does_not_hide() -> None:
    with pytest.raises(AttributeError):
        scanned({"claude": object()})
    assert scanned({"other": object()}).failed.keys() == {"other"}
