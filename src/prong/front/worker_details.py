"""All that is known of a worker, as rows of a name and a text."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prong.front.command_line import quoted
from prong.front.text import age, short_path
from prong.front.worker_row import place

if TYPE_CHECKING:
    from prong.worker import WorkerInfo, WorkerStatus


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
    from prong.app.worker_views import words

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
