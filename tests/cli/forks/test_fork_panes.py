"""`prong fork` where panes can be opened: the fork runs, as a worker."""

from pathlib import Path

import pytest

from tests.cli.worker_lab import WorkerLab


@pytest.fixture
def parser(lab: WorkerLab) -> str:
    """A worker that has answered once."""
    lab.run("--name", "parser", "--wait", "first")
    return "parser"


def names(lab: WorkerLab) -> list[str]:
    return [one["name"] for one in lab.shell.json("ps", "--all")["workers"]]


def test_a_fork_on_a_terminal_opens_a_pane(lab: WorkerLab, parser: str) -> None:
    shown = lab.on_terminal("fork", f"{parser}@1", "--yes", inside=True)
    assert shown.status == 0, shown.output
    source, fork = lab.shell.json("ps")["workers"]
    assert f"into {fork['session']}" in shown.output
    assert f"worker  {fork['name']}" in shown.output
    assert f"prong attach {fork['name']}" in shown.output
    assert "claude --resume" not in shown.output
    assert fork["forked_from"] == parser
    assert fork["fork"]
    assert fork["pane"] != source["pane"]
    assert fork["workspace"] != source["workspace"]
    lab.until(fork["name"], "idle")
    # Each goes on for itself.
    assert lab.shell.json("send", fork["name"], "second", "--wait")["worker"]["turn"] == 2
    assert lab.status(parser)["turn"] == 1


def test_no_open_shows_the_command_instead(lab: WorkerLab, parser: str) -> None:
    shown = lab.on_terminal("fork", f"{parser}@1", "--yes", "--no-open", inside=True)
    assert shown.status == 0, shown.output
    assert "claude --resume" in shown.output
    assert names(lab) == [parser]


def test_never_with_json(lab: WorkerLab, parser: str) -> None:
    made = lab.shell.json("fork", parser, **lab.inside())["fork"]
    assert made["command"][0] == "claude"
    problem = lab.shell.problem(2, "fork", parser, "--name", "other")
    assert problem["message"] == "--json cannot open a pane"
    assert names(lab) == [parser]


def test_nor_in_a_pipe(lab: WorkerLab, parser: str) -> None:
    assert "claude --resume" in lab.shell.ok("fork", parser, "--yes", **lab.inside())
    assert names(lab) == [parser]


def test_several_need_more_than_this_terminal(lab: WorkerLab, parser: str) -> None:
    said = lab.shell.fails(2, "fork", parser, "--yes", "--count", "2", "--terminal", "exec")
    assert "exec has room for one fork, not for 2" in said
    assert names(lab) == [parser]


def test_a_name_asks_for_a_worker_wherever_one_is(lab: WorkerLab, parser: str) -> None:
    text = lab.shell.ok("fork", parser, "--yes", "--name", "lexer", "--prompt", "do it")
    assert "prong attach lexer" in text
    assert lab.until("lexer", "idle")["last_line"] == "You said: do it"
    assert lab.status("lexer")["forked_from"] == parser


def test_several_prompts_start_several_workers(lab: WorkerLab, parser: str) -> None:
    files = [lab.shell.home.root / f"{letter}.md" for letter in "abc"]
    for file in files:
        file.write_text(f"Do it as {file.stem}\n\nplease\n")
    words = [word for file in files for word in ("--prompt-file", str(file))]
    lab.shell.ok("fork", parser, "--yes", "--count", "3", *words)
    forks = [name for name in names(lab) if name != parser]
    assert len(forks) == 3
    found = [lab.until(name, "idle") for name in forks]
    assert {one["last_input"].split()[3] for one in found} == {"a", "b", "c"}
    assert len({one["session"] for one in found}) == 3
    assert len({one["pane"]["id"] for one in found}) == 3
    assert len({one["workspace"] for one in found}) == 3
    assert lab.status(parser)["turn"] == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--exec", "--terminal", "tmux"], "--exec runs it in this terminal"),
        (["--no-open", "--split"], "--no-open cannot open a pane"),
        (["--split", "--window"], "--split or --window, not both"),
        (["--prompt", "a", "--prompt-file", "b.md"], "--prompt or --prompt-file, not both"),
        (["--prompt-file", "gone.md"], "cannot read gone.md: No such file or directory"),
        (["--prompt-file", "empty.md"], "empty.md is empty"),
        (
            ["--count", "3", "--prompt-file", "a.md", "--prompt-file", "a.md"],
            "3 forks and 2 prompts",
        ),
    ],
)
def test_what_does_not_go_together(
    lab: WorkerLab, parser: str, words: list[str], message: str
) -> None:
    Path("empty.md").touch()
    Path("a.md").write_text("a")
    Path("b.md").write_text("b")
    before = lab.shell.json("list", "--all")["total"]
    assert message in lab.shell.fails(2, "fork", parser, "--yes", *words)
    assert lab.shell.json("list", "--all")["total"] == before


def test_a_turn_that_stands_alone(lab: WorkerLab, parser: str) -> None:
    assert "prong fork parser@1" in lab.shell.fails(2, "fork", parser, "1")
    assert "unexpected extra argument" in lab.shell.fails(2, "fork", parser, "hello")


def test_the_demo_opens_none(lab: WorkerLab, parser: str) -> None:
    shown = lab.on_terminal("demo", inside=True)
    assert shown.status == 0, shown.output
    assert "claude --resume" in shown.output
    assert names(lab) == [parser]


def test_resume_in_a_pane(lab: WorkerLab, parser: str) -> None:
    session = lab.status(parser)["session"]
    lab.shell.ok("stop", parser)
    text = lab.shell.ok("resume", session, "--terminal", "tmux", "--prompt", "second")
    assert text.startswith("started ")
    (name,) = (one for one in names(lab) if one != parser)
    assert lab.until(name, "idle")["session"] == session
    assert lab.status(name)["last_line"] == "You said: second"
    for more in ("--json", "--exec"):
        lab.shell.fails(2, "resume", session, "--terminal", "tmux", more)


def test_a_worker_is_forked_as_it_is_without_a_question(lab: WorkerLab, parser: str) -> None:
    lab.shell.json("send", parser, "second", "--wait")
    shown = lab.on_terminal("fork", parser, "--name", "lexer", inside=True)
    assert shown.status == 0, shown.output
    assert "Fork at which turn?" not in shown.output
    assert lab.status("lexer")["turn"] == 2
