"""docs/reference/json.md shows every field that `--json` has, and its examples are JSON."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from prong.code.worktrees.record import Worktree
from prong.code.worktrees.status import WorktreeState, WorktreeStatus
from prong.model.code import LeftOut, Snapshot
from prong.model.forks import Fork, ForkPlan, ForkPoint, Launch, Method
from prong.model.search import Attempt, Hit, IndexState, Passage, SearchRequest, SearchResult
from prong.model.sessions import (
    Command,
    Conversation,
    Message,
    Session,
    SessionRef,
    Skipped,
    SubAgent,
    Tool,
    Turn,
    TurnKind,
)
from prong.model.workers import Evidence, Pane, WorkerInfo, WorkerState, WorkerStatus
from prong.session.lineage import Forest, LineageNode
from prong.session.listing import Listing
from prong.setup.doctor import Finding
from prong.setup.mcp import McpPlan
from prong.views import json as views
from prong.views import search, workers
from prong.views.setup import mcp_plan
from prong.workers.request import WorkerPlan, WorkerRequest

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
REF = SessionRef("claude", "60309e1e-7f1b-4c8e-9d0a-1b2c3d4e5f60")
SESSION = Session(REF, "a.jsonl", "title")
TURN = Turn(1, "id", TurnKind.HUMAN, "prompt", commands=(Command("ls", 0),), tools={"Bash": 1})


def section(title: str) -> str:
    found = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    return next(part for part in found if part.startswith(f"{title}\n"))


def example(title: str) -> dict[str, Any]:
    found = re.search(r"```json\n(.*?)```", section(title), flags=re.DOTALL)
    assert found, f"no example under {title}"
    return json.loads(found[1])


def test_session() -> None:
    assert list(example("A session")) == list(views.session(SESSION))


def test_turns() -> None:
    conversation = Conversation(
        SESSION, (TURN,), subagents=(SubAgent("id", Path("b.jsonl")),), skipped=()
    )
    real, shown = views.conversation(conversation), example("turns")
    assert list(shown) == list(real)
    assert list(shown["turns"][0]) == list(real["turns"][0])
    assert list(shown["turns"][0]["commands"][0]) == list(real["turns"][0]["commands"][0])
    assert all(f"`{key}`" in section("turns") for key in real["subagents"][0])


def test_fork() -> None:
    point = ForkPoint(REF, 12, "id")
    launch = Launch(("claude",), Path("/x"))
    plan = ForkPlan(point, SESSION, "claude", Method.COPY, "new", Path("/x"), launch, 1, 2)
    made = Fork("id", point, None, REF, Method.COPY, datetime.now(UTC), 1, launch=launch)
    planned, done = re.findall(r"```json\n(.*?)```", section("fork"), flags=re.DOTALL)
    assert list(json.loads(planned)["plan"]) == list(views.plan(plan))
    assert list(json.loads(done)["fork"]) == list(views.fork(made))
    assert list(example("resume")) == ["session", *views.launch(launch)]


def test_find() -> None:
    found = Hit(SESSION, REF, TURN, 0.5, Passage("text"), "builtin")
    attempt = Attempt("builtin", "words")
    real = search.result(
        SearchResult(SearchRequest("x"), (found,), "builtin", (attempt,), IndexState())
    )
    shown = example("find")
    assert list(shown) == list(real)
    for name in ("filters", "index"):
        assert list(shown[name]) == list(real[name])
    for name in ("attempts", "hits"):
        assert list(shown[name][0]) == list(real[name][0])
    assert list(example("index")["index"]) == list(search.index(IndexState()))


def test_show() -> None:
    real = views.message(Message("tool", "", 1, Tool("id", "Bash")))
    shown = example("show")["messages"][0]
    assert set(shown) == set(real)
    assert list(shown["tool"]) == list(real["tool"])


def test_tree() -> None:
    real = views.forest(Forest([LineageNode(REF, SESSION, None)]))
    assert list(example("tree")["roots"][0]) == list(real["roots"][0])


def test_worktrees() -> None:
    made = Worktree(Path("/w/a"), Path("/r"), Path("/r/.git"), "b", None, datetime.now(UTC))
    real = views.worktree(WorktreeStatus(made, Path("/w"), WorktreeState.NEW))
    assert list(example("worktrees")["worktrees"][0]) == list(real)


def test_workers() -> None:
    info = WorkerInfo("a", "claude", Path("/w"), "claude", datetime.now(UTC), pane=Pane("t", "%1"))
    real = WorkerStatus(info, Evidence(WorkerState.IDLE, "hook"))
    shown = example("ps")["workers"][0]
    assert list(shown) == list(workers.worker(real))
    assert list(shown["pane"]) == list(workers.worker(real)["pane"])
    first = list(example("status"))
    assert list(workers.status(real))[: len(first)] == first
    assert {*workers.status(real)} == {*first, *shown}


def test_run() -> None:
    plan = WorkerPlan(WorkerRequest(), "a", "claude", "claude", Path("/w"), None)
    assert list(example("run")["plan"]) == list(workers.plan(plan))


def test_doctor() -> None:
    fields = list(Finding.__struct_fields__)
    assert list(example("doctor")["findings"][0]) == fields


def test_snapshot() -> None:
    parts = ("ref", "commit", "tree", "staged", "head", "main", "claude", "60309e1e", "id")
    taken = Snapshot(
        Path("/x"), *parts, 12, None, datetime.now(UTC), True, None, (LeftOut("a", 1, "large"),)
    )
    shown, real = example("snapshot")["snapshot"], views.snapshot(taken)
    assert list(shown) == list(real)
    assert list(shown["left_out"][0]) == list(real["left_out"][0])


def test_list() -> None:
    real = views.listing(Listing((SESSION,), (), total=1, hidden=0, more=0))
    assert list(example("list")) == list(real)


def test_skipped() -> None:
    real = views.skipped(Skipped(Path("a.jsonl"), "garbage", 7))
    assert all(f"`{key}`" in section("list") for key in real)


@pytest.mark.parametrize("text", re.findall(r"```json\n(.*?)```", PAGE, flags=re.DOTALL))
def test_every_example_is_json(text: str) -> None:
    assert json.loads(text)


def test_mcp() -> None:
    plan = mcp_plan(McpPlan("claude", None), done=False)
    assert list(example("mcp")["mcp"][0]) == list(plan)
