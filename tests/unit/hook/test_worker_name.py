"""Which worker an agent is: a name is handed on to the agents that a worker starts."""

from pathlib import Path

import pytest

from prong.hook.worker_name import worker_name

Process = tuple[str, str | None]
"""A program, and the worker that its environment names."""


def name_of(tmp_path: Path, *chain: Process, agent: str = "claude") -> str | None:
    """What a hook is told that runs below these processes, the nearest first."""
    for number, (program, name) in enumerate(chain, 100):
        folder = tmp_path / str(number)
        folder.mkdir(parents=True)
        above = number + 1 if number - 99 < len(chain) else 1
        (folder / "stat").write_text(f"{number} ({program}) S {above} 1 1")
        (folder / "environ").write_text(f"A=1\0PRONG_WORKER={name}\0" if name else "A=1\0")
    return worker_name(agent, tmp_path, 100)


@pytest.fixture(autouse=True)
def worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRONG_WORKER", "w")
    monkeypatch.delenv("PRONG_AGENT", raising=False)


WORKER: Process = ("claude", "w")
SHELL: Process = ("sh", "w")
TMUX: Process = ("tmux: server", None)


def test_the_worker_itself(tmp_path: Path) -> None:
    assert name_of(tmp_path, WORKER, SHELL, TMUX) == "w"


@pytest.mark.parametrize("inner", ["claude", "codex", "notes"])
def test_an_agent_that_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inner: str
) -> None:
    monkeypatch.setenv("PRONG_AGENT", "claude")
    chain = (SHELL, (inner, "w"), SHELL, WORKER, TMUX)
    assert name_of(tmp_path, *chain, agent=inner) is None


def test_agents_of_plug_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRONG_AGENT", "notes")
    notes: Process = ("notes", "w")
    assert name_of(tmp_path / "own", notes, SHELL, TMUX, agent="notes") == "w"
    assert name_of(tmp_path / "inner", notes, SHELL, notes, TMUX, agent="notes") is None


def test_a_program_that_starts_itself_again(tmp_path: Path) -> None:
    assert name_of(tmp_path, ("codex (x)", "w"), ("codex", "w"), TMUX, agent="codex") == "w"


def test_prong_was_called_by_an_agent(tmp_path: Path) -> None:
    assert name_of(tmp_path, WORKER, ("prong", None), ("bash", None), ("claude", None)) == "w"
    assert worker_name("claude", tmp_path / "none", 100) == "w"


def test_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRONG_WORKER", "../w")
    assert name_of(tmp_path, WORKER) is None
