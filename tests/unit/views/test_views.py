"""What `--json` is made of: plain values, whatever is known or not."""

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from prong.model.sessions import Conversation, Message, Session, SessionRef, Skipped, Turn, TurnKind
from prong.session.lineage import Forest, LineageNode
from prong.session.listing import Listing
from prong.views import json as views

REF = SessionRef("claude", "x")
BARE = Session(REF, "/x.jsonl", "")


def test_times_are_utc_to_the_millisecond() -> None:
    tokyo = timezone(timedelta(hours=9))
    assert views.time(datetime(2026, 1, 2, 3, 4, 5, 678999, tokyo)) == "2026-01-01T18:04:05.678Z"
    assert views.time(datetime(2026, 1, 2, tzinfo=UTC)) == "2026-01-02T00:00:00.000Z"
    assert views.time(None) is None


def test_what_is_not_known_is_null() -> None:
    view = views.session(BARE)
    assert [name for name, value in view.items() if value is None] == [
        "cwd",
        "branch",
        "model",
        "entrypoint",
        "started",
        "updated",
        "parent",
    ]


def test_everything_is_plain_json() -> None:
    turn = Turn(None, "t", TurnKind.HUMAN, "p")
    for view in (
        views.session(BARE),
        views.conversation(Conversation(BARE, (turn,), (turn,))),
        views.listing(Listing((BARE,), (Skipped(Path("/y"), "why", 3),), 1, 0, 0)),
        views.message(Message("user", "hello")),
        views.forest(Forest([LineageNode(REF, None, None)])),
    ):
        assert json.loads(json.dumps(view)) == view


def test_copies_are_among_what_was_skipped() -> None:
    copy = Skipped(Path("/copy"), "a copy of /x")
    view = views.listing(Listing((), (), 0, 0, 0, copies=(copy,)))
    assert view["skipped"] == [{"path": "/copy", "reason": "a copy of /x", "offset": None}]
