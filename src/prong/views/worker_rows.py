"""Workers as short text rows: where they run and their last output."""

from collections.abc import Iterator

from prong.model.workers import WorkerInfo, WorkerStatus
from prong.views.command_line import quoted
from prong.views.text import age, clean, short_path
from prong.views.workers import words

COLOURS = {"idle": "green", "busy": "yellow", "waiting": "magenta", "starting": "cyan"}
"""Colours of worker states; other states are dim."""


def place(worker: WorkerInfo) -> str:
    """Name the pane, or `headless`."""
    if worker.headless:
        return "headless"
    if worker.pane is None:
        return ""
    # With the "print" terminal, the pane id is the whole command to paste.
    return "print" if worker.pane.terminal == "print" else clean(str(worker.pane))


def last(one: WorkerStatus) -> str:
    """Return the last line of output. If the worker waits for input, say for what first."""
    request = one.evidence.detail if one.state.value == "waiting" else None
    return clean(f"[{request}] {one.last_line}" if request else one.last_line)


def places(worker: WorkerInfo) -> Iterator[tuple[str, str]]:
    """Yield rows on where a worker runs and where it came from. Skip those whose text is empty."""
    session = f"{worker.agent}:{worker.session}" if worker.session else ""
    yield "session", session or "not known yet; the agent chooses it"
    yield "folder", short_path(str(worker.workspace))
    yield "branch", worker.branch or ""
    yield "pane", place(worker) if worker.pane else ""
    yield "log", short_path(str(worker.log)) if worker.log else ""
    yield "from", worker.forked_from or ""


def details(status: WorkerStatus) -> Iterator[tuple[str, str]]:
    """Yield all rows about a worker. Some contain foreign text: clean them before printing."""
    worker = status.worker
    # Drop the program name: "codex-cli 1.2.3", "1.2.3 (Claude Code)".
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
