"""`can_fork` is what planning the fork says; forks get a worktree, wherever they are asked for."""

from pathlib import Path

from tests.cli.code_lab import git
from tests.cli.worker_lab import WorkerLab
from tests.mcp.agent import Agent

INTENT = "Add rate limiting to the public API"


def test_a_session_whose_folder_is_gone(lab: WorkerLab, agent: Agent) -> None:
    lab.shell.simple(1, INTENT, cwd="/nowhere/at/all")
    there = lab.shell.simple(2, "Rate limits, once more", cwd=str(lab.project))
    found = {one["session_id"]: one for one in agent.ok("smart_fork", intent=INTENT)["results"]}
    assert found.pop(there)["can_fork"] is True
    (gone,) = found.values()
    assert gone["can_fork"] is False
    assert "/nowhere/at/all" in gone["warning"]
    told = agent.problem("smart_fork", intent=INTENT, fork_index=gone["rank"], dry_run=True)
    assert told["code"] == "not_found"
    listed = agent.ok("find_sessions", intent=INTENT)["results"]
    assert {one["session_id"]: one["can_fork"] for one in listed}[there] is True
    assert sum(one["can_fork"] for one in listed) == 1


def test_a_fork_into_another_project_gets_a_worktree(lab: WorkerLab, agent: Agent) -> None:
    id_ = lab.shell.simple(1, INTENT, cwd=str(lab.project))
    other = repository(lab.shell.home.projects / "other")
    plain = lab.shell.home.projects / "plain"
    plain.mkdir()
    fork = {"fork_from": id_, "project_path": str(other)}
    again = {"resume_session_id": id_, "fork_session": True, "project_path": str(other)}
    made = agent.ok(
        "spawn_workers",
        workers=[
            fork,
            again,
            {**fork, "use_worktree": False},
            {**fork, "worktree": {"branch": "mine"}},
            {**fork, "project_path": str(plain)},
            {**fork, "project_path": str(plain), "use_worktree": True},
            {"fork_from": id_, "use_worktree": False},
            {"fork_from": id_},
        ],
        dry_run=True,
    )["workers"]
    plans = [one.get("plan", {}) for one in made]
    assert all(str(plan["worktree"]).startswith(plan["workspace"]) for plan in plans[:2])
    assert all(plan["workspace"] != str(other) for plan in plans[:2])
    assert (plans[2]["workspace"], plans[2].get("worktree")) == (str(other), None)
    assert plans[3]["branch"] == "mine"
    assert (plans[4]["workspace"], plans[4].get("worktree")) == (str(plain), None)
    assert made[5]["problem"]["code"] == "usage"
    assert (plans[6]["workspace"], plans[6].get("worktree")) == (str(lab.project), None)
    assert plans[7]["worktree"]


def test_run_fork_gets_one_too_and_the_code_of_the_other_project(lab: WorkerLab) -> None:
    id_ = lab.shell.simple(1, INTENT, cwd=str(lab.project))
    other = repository(lab.shell.home.projects / "other")
    made = lab.shell.json("run", "--fork", id_, "--project", str(other))["worker"]
    workspace = Path(made["workspace"])
    assert workspace != other
    assert (workspace / "only-here.txt").read_text() == "other"
    inside = lab.shell.json(
        "run", "--fork", id_, "--project", str(other), "--no-worktree", "--dry-run"
    )
    assert inside["plan"]["workspace"] == str(other)


def repository(folder: Path) -> Path:
    folder.mkdir()
    (folder / "only-here.txt").write_text("other")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        git(folder, *words)
    return folder
