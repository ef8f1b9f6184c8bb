"""A worker in a few words: where it runs, and what was said last."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prong.views.command_line import quoted
from prong.views.text import age, clean, short_path

if TYPE_CHECKING:
    from prong.model.workers import WorkerInfo, WorkerStatus


COLOURS = {"idle": "green", "busy": "yellow", "waiting": "magenta", "starting": "cyan"}
"""Of the states; the others are dim."""


def place(worker: "WorkerInfo") -> str:
    """Where it runs."""
    if worker.headless:
        return "headless"
    if worker.pane is None:
        return ""
    # The id of a pane that was only printed is the whole command.
    return "print" if worker.pane.terminal == "print" else clean(str(worker.pane))


def last(one: "WorkerStatus") -> str:
    """What it wants of a person is more important than what was said."""
    wants = one.evidence.detail if one.state.value == "waiting" else None
    return clean(f"[{wants}] {one.last_line}" if wants else one.last_line)


def places(worker: "WorkerInfo") -> Iterator[tuple[str, str]]:
    """Where it runs, and what it came from. A row whose text is empty is none."""
    session = f"{worker.agent}:{worker.session}" if worker.session else ""
    yield "session", session or "not known yet; the agent chooses it"
    yield "folder", short_path(str(worker.workspace))
    yield "branch", worker.branch or ""
    yield "pane", place(worker) if worker.pane else ""
    yield "log", short_path(str(worker.log)) if worker.log else ""
    yield "from", worker.forked_from or ""


def details(status: "WorkerStatus") -> Iterator[tuple[str, str]]:
    """All of it. Text of others is in it: it is to be cleaned."""
    from prong.views.workers import words

    worker = status.worker
    # "codex-cli 1.2.3", "1.2.3 (Claude Code)": its name is said already.
    version = next((word for word in (worker.version or "").split() if word[0].isdigit()), "")
    yield "agent", f"{worker.agent} {version}".strip()
    yield from places(worker)
    yield "turn", "" if status.turn is None else str(status.turn)
    yield "started", age(worker.started or worker.created)
    yield "stopped", age(worker.stopped)
    yield "exit code", "" if status.exit_code is None else str(status.exit_code)
    yield "command", " ".join(quoted(word) for word in words(worker.command))
    commits = "a commit after every turn" if worker.commit_turns else ""
    yield "commits", f"{commits}, pushed to {worker.push}" if worker.push else commits
    yield "push", f"failed: {status.push_failure}" if status.push_failure else ""
    yield "prompt", status.last_input or ""
    yield "said", status.last_line
