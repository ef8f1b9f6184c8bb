"""Seed forks: submit the transcript as the agent's first prompt, headless."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from prong.agents.base import AgentStore, ForkSource
from prong.agents.run import RunningProgram
from prong.errors import External
from prong.forks import plan as planning
from prong.model.forks import ForkPlan
from prong.model.record import Record, replace
from prong.transcripts.acknowledgement import is_ready

if TYPE_CHECKING:
    from prong.agents.headless import ProgramAnswer


class ForkOutcome(Record, frozen=True):
    id: str
    path: Path | None = None
    """None if the agent writes the file at the first prompt."""
    seed_hash: str | None = None
    acknowledged: bool = False
    """True if the agent replied `Ready.`, which is hidden from the transcript."""
    warnings: tuple[str, ...] = ()


_SAID = 300


PathOf = Callable[[str, str], Path | None]
"""The file of a session, by agent and id."""


def seeded(store: AgentStore, plan: ForkPlan, source: ForkSource, path_of: PathOf) -> ForkOutcome:
    """Submit the seed, from which the agent creates a session, and check its reply."""
    seed = planning.seed_of(source, store, plan)
    launch = store.seed(plan.child)
    launch = replace(launch, env={**plan.env, **launch.env})
    try:
        with RunningProgram(launch, seed.text) as running:
            reply = store.seeded(plan.child, running.lines())
            status = running.wait()
    except BaseException:
        _discard(plan, path_of)
        raise
    if reply.session_id is None or reply.error:
        kept = "" if _discard(plan, path_of) else reply.session_id
        raise External(
            f"{launch.argv[0]} did not take the seed: {reply.error or _last_line(running)}",
            hint=f"what came of it: prong show {plan.agent}:{kept}" if kept else "prong doctor",
            argv=list(launch.argv),
            status=status,
            stderr=running.complaints,
            session=kept or None,
        )
    acknowledged = is_ready(reply.text)
    return ForkOutcome(
        reply.session_id,
        path_of(plan.agent, reply.session_id),
        seed_hash=seed.digest,
        acknowledged=acknowledged,
        warnings=() if acknowledged else (_unexpected(reply),),
    )


def _last_line(running: RunningProgram) -> str:
    complaints = running.complaints.strip()
    return complaints.splitlines()[-1] if complaints else "no session was made"


def _discard(plan: ForkPlan, path_of: PathOf) -> bool:
    """Delete the session file that the agent began under our id; True if nothing is left."""
    if plan.new_id is None:
        return False
    path = path_of(plan.agent, plan.new_id)
    if path is not None:
        path.unlink(missing_ok=True)
        shutil.rmtree(path.with_suffix(""), ignore_errors=True)
    return True


def _unexpected(reply: ProgramAnswer) -> str:
    text = " ".join(reply.text.split())
    if not text:
        return "the agent did not say that it is ready"
    return f"the agent said: {text[:_SAID]}{'...' if len(text) > _SAID else ''}"
