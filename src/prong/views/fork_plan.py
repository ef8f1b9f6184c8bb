"""A fork plan as rows of text, the same in every front end."""

from collections.abc import Iterator

from prong.code.service import CodeService
from prong.errors import ProngError
from prong.forks.service import ForkService
from prong.model.amounts import counted
from prong.model.code import Snapshot
from prong.model.forks import ForkPlan
from prong.views.code_change import summary
from prong.views.text import short_path

_BAR = 20
_COMMIT = 7


def plan_rows(
    forks: ForkService, changes: CodeService, plan: ForkPlan, count: int
) -> Iterator[tuple[str, str]]:
    """Yield (name, text) rows. Skip those whose text is empty."""
    new = plan.new_id or "chosen by the agent"
    converted = plan.agent != plan.source.agent and plan.method == "copy"
    kind = "converted copy" if converted else plan.method
    yield "from", f"{plan.point}  {plan.source.title}"
    yield "to", f"{plan.agent}:{new} ({kind})" if plan.new_id else f"{plan.agent}, {new} ({kind})"
    if count > 1:
        yield "count", f"{count} forks: this one, and {count - 1} more like it"
    if plan.worktree is None:
        yield "folder", f"{short_path(str(plan.workspace))} (no code is touched)"
    else:
        yield "code", code(forks, changes, plan)
        yield "folder", f"{short_path(str(plan.workspace))} (a new worktree)"
        yield "branch", plan.worktree.branch
    yield "size", _size(plan)
    yield "title", plan.title or ""
    yield "prompt", plan.prompt or ""
    for warning in plan.warnings:
        yield "note", warning


def code(forks: ForkService, changes: CodeService, plan: ForkPlan) -> str:
    """Describe the code that the fork's worktree starts with."""
    worktree = plan.worktree
    assert worktree is not None
    repo = short_path(str(worktree.repo))
    if worktree.snapshot is not None:
        return _as_captured(forks, changes, plan, worktree.snapshot)
    if worktree.code.value == "now":
        return f"current code of {repo}"
    if worktree.code.value == "head":
        return f"last commit of {repo}"
    return f"nearest commit, not exact: {(worktree.commit or '')[:_COMMIT]}"


def _as_captured(
    forks: ForkService, changes: CodeService, plan: ForkPlan, snapshot: Snapshot
) -> str:
    """Describe a snapshot: `as at turn 3, a1b2c3d (+12 -3 in 4 files)`."""
    commit = snapshot.commit[:_COMMIT]
    try:
        conversation = forks.source(plan.source).conversation
    except (ProngError, OSError):
        return f"as captured, {commit}"  # the source was deleted after it was forked
    turns = (*conversation.turns, *conversation.abandoned)
    turn = next((candidate for candidate in turns if candidate.id == snapshot.turn_id), None)
    if turn is None:
        return f"before the first turn, {commit}"
    name = f"as at turn {turn.index or turn.id[:8]}, {commit}"
    try:
        change = changes.change_of(conversation, turn)
    except ProngError:
        return name  # the previous turn has no snapshot to compare with
    return f"{name} ({summary(change) if change.files else 'nothing changed'})"


def _size(plan: ForkPlan) -> str:
    tokens = (
        f"about {counted(plan.tokens, 'token')}"
        if plan.tokens < 1000
        else (f"about {plan.tokens:,} tokens")
    )
    if plan.window is None:
        return f"{tokens}; the model's window is unknown"
    share = plan.tokens / plan.window
    filled = min(round(share * _BAR), _BAR)
    return f"{tokens} of {plan.window:,} [{'#' * filled}{'.' * (_BAR - filled)}] {share:.0%}"
