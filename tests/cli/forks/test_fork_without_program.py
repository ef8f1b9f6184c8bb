"""A fork is a file: it is written without the agent's program, which is needed only to run it."""

from pathlib import Path

import pytest

import prong
from prong.agents.codex.store import CodexStore
from prong.errors import Unavailable
from tests.cli import agents
from tests.cli.agents import fork
from tests.cli.shell import API, PARSER, Shell
from tests.cli.worker_lab import WorkerLab

INSTALL = {
    "claude": "npm install -g @anthropic-ai/claude-code",
    "codex": "npm install -g @openai/codex",
}
SOURCES = {"claude": f"claude:{API}@1", "codex": f"codex:{PARSER}@1"}
PAIRS = [(source, agent) for source in SOURCES for agent in INSTALL]


@pytest.fixture
def bare(samples: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The sample sessions and their folder, on a machine without any agent."""
    (samples.home.projects / "shop").mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return samples


def missing(agent: str, child: object) -> str:
    return f"{agent} is not on PATH; to run the fork: {INSTALL[agent]}; then: prong resume {child}"


@pytest.mark.parametrize(("source", "agent"), PAIRS)
def test_the_command_writes_it(bare: Shell, source: str, agent: str) -> None:
    made = fork(bare, SOURCES[source], "--agent", agent, "--no-open")
    assert Path(made["path"]).is_file()
    assert made["warnings"] == [missing(agent, made["child"])]
    assert len(bare.json("turns", made["child"])["turns"]) == 1


@pytest.mark.parametrize(("source", "agent"), PAIRS)
def test_python_writes_it(bare: Shell, source: str, agent: str) -> None:
    planned = prong.plan_fork(SOURCES[source], agent=agent)
    assert planned.missing == f"{agent} is not on PATH; to run the fork: {INSTALL[agent]}"
    assert planned.missing in planned.warnings
    made = prong.fork(SOURCES[source], agent=agent)
    assert made.path is not None
    assert made.path.is_file()
    assert made.launch is not None
    assert made.launch.argv[0] == agent
    assert made.warnings == (missing(agent, made.child),)


@pytest.mark.parametrize("agent", INSTALL)
def test_what_it_says_to_type_works_once_the_program_is_there(
    bare: Shell, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    made = fork(bare, SOURCES[agent])
    folder = agents.install_both(bare, monkeypatch)
    agents.install(folder, "codex", CodexStore().program.flags)
    resumed = bare.json("resume", made["child"])
    assert resumed["cwd"] == made["workspace"]
    assert made["child"].partition(":")[2] in " ".join(resumed["command"])


def test_a_prompt_is_to_be_given_again(bare: Shell) -> None:
    made = fork(bare, SOURCES["claude"], "--prompt", "with locks")
    assert made["warnings"] == [f"{missing('claude', made['child'])} --prompt TEXT"]
    assert made["command"][-1] == "with locks"


def test_each_of_several_forks_is_named(bare: Shell) -> None:
    made = bare.json("fork", SOURCES["claude"], "--count", "2")["forks"]
    assert [one["warnings"] for one in made] == [[missing("claude", one["child"])] for one in made]


def test_before_the_first_turn_only_the_command_tells_the_session(bare: Shell) -> None:
    made = fork(bare, f"{API}@0")
    assert made["path"] is None
    assert made["warnings"] == [f"claude is not on PATH; to run the fork: {INSTALL['claude']}"]


@pytest.mark.parametrize("agent", INSTALL)
@pytest.mark.parametrize("method", ["seed", "native"])
def test_other_methods_need_it(bare: Shell, agent: str, method: str) -> None:
    source = SOURCES[agent].partition("@")[0]
    problem = bare.problem(5, "fork", source, "--method", method)
    assert problem["message"] == f"{agent} is not on PATH"
    assert problem["hint"] == INSTALL[agent]
    with pytest.raises(Unavailable, match="is not on PATH"):
        prong.fork(source, method=method)


def test_a_program_that_is_too_old_is_no_obstacle(
    bare: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents.install_both(bare, monkeypatch)
    program = bare.home.root / "bin" / "claude"
    program.write_text("#!/bin/sh\necho '  --resume'\n")
    [warning] = fork(bare, SOURCES["claude"])["warnings"]
    assert "does not know --fork-session, --session-id, --name; to run the fork: update" in warning


def test_exec_makes_it_and_starts_nothing(bare: Shell) -> None:
    result = bare.run("fork", SOURCES["claude"], "--exec", "--yes")
    assert result.exit_code == 0, result.stderr
    assert "into claude:" in result.stdout
    assert INSTALL["claude"] in result.stderr


@pytest.fixture
def no_agent(lab: WorkerLab) -> WorkerLab:
    """A worker that has answered, whose program was then removed."""
    lab.run("--name", "parser", "--wait", "first")
    (lab.shell.home.root / "bin" / "claude").unlink()
    return lab


def test_where_a_pane_would_open_it_is_made_and_not_opened(no_agent: WorkerLab) -> None:
    shown = no_agent.on_terminal("fork", "parser@1", "--yes", inside=True, columns=300)
    assert shown.status == 0, shown.output
    child = shown.output.partition(" into ")[2].split()[0]
    assert missing("claude", child) in shown.output
    assert f"claude --resume {child.removeprefix('claude:')}" in shown.output
    assert [one["name"] for one in no_agent.shell.json("ps", "--all")["workers"]] == ["parser"]


def test_forks_with_prompts_of_their_own_are_not_made(no_agent: WorkerLab, tmp_path: Path) -> None:
    before = no_agent.shell.json("list", "--all")["total"]
    words = ["fork", "parser@1", "--yes"]
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
        words += ["--prompt-file", str(tmp_path / name)]
    shown = no_agent.on_terminal(*words, inside=True, columns=300)
    assert shown.status == 5, shown.output
    assert INSTALL["claude"] in shown.output
    assert no_agent.shell.json("list", "--all")["total"] == before


@pytest.mark.parametrize("words", [("run", "--fork", "parser@1"), ("clone", "parser")])
def test_a_worker_needs_the_program(no_agent: WorkerLab, words: tuple[str, ...]) -> None:
    before = no_agent.shell.json("list", "--all")["total"]
    problem = no_agent.shell.problem(5, *words)
    assert problem["message"] == "claude is not on PATH"
    assert problem["hint"] == INSTALL["claude"]
    assert no_agent.shell.json("list", "--all")["total"] == before
