"""A fork by seed: the transcript is given to the agent as its first prompt, without a terminal."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from prong.agents.base import CanSeed, ForkSource, SeedReply, capable
from prong.agents.run import RunningProgram
from prong.errors import External
from prong.forks import plan as planning
from prong.forks.launch import store_of
from prong.model.forks import ForkPlan
from prong.model.record import Record, replace
from prong.transcripts.acknowledgement import is_ready

if TYPE_CHECKING:
    from prong.app import App


class ForkOutcome(Record, frozen=True):
    id: str
    path: Path | None = None
    """None when the agent writes the file itself, with the first prompt."""
    seed_hash: str | None = None
    acknowledged: bool = False
    """The agent's `Ready.` came and was kept out of sight."""
    warnings: tuple[str, ...] = ()


_SAID = 300


def seeded(app: App, plan: ForkPlan, source: ForkSource) -> ForkOutcome:
    """Submit the seed; the agent makes a session of it and says that it is ready."""
    agent = store_of(app, plan)
    store = capable(agent, CanSeed, "be seeded")
    made = planning.seed_of(source, agent, plan)
    launch = store.seed(plan.child)
    launch = replace(launch, env={**plan.env, **launch.env})
    try:
        with RunningProgram(launch, made.text) as running:
            reply = store.seeded(plan.child, running.lines())
            status = running.wait()
    except BaseException:
        _discard(app, plan)
        raise
    if reply.session_id is None or reply.error:
        kept = "" if _discard(app, plan) else reply.session_id
        raise External(
            f"{launch.argv[0]} did not take the seed: {reply.error or _last_line(running)}",
            hint=f"what came of it: prong show {plan.agent}:{kept}" if kept else "prong doctor",
            argv=list(launch.argv),
            status=status,
            stderr=running.complaints,
            session=kept or None,
        )
    ready = is_ready(reply.text)
    return ForkOutcome(
        reply.session_id,
        app.path_of(plan.agent, reply.session_id),
        seed_hash=made.digest,
        acknowledged=ready,
        warnings=() if ready else (_unexpected(reply),),
    )


def _last_line(running: RunningProgram) -> str:
    said = running.complaints.strip()
    return said.splitlines()[-1] if said else "no session was made"


def _discard(app: App, plan: ForkPlan) -> bool:
    """Remove what the agent began to write under an id of ours; True when nothing is left."""
    if plan.new_id is None:
        return False
    path = app.path_of(plan.agent, plan.new_id)
    if path is not None:
        path.unlink(missing_ok=True)
        shutil.rmtree(path.with_suffix(""), ignore_errors=True)
    return True


def _unexpected(reply: SeedReply) -> str:
    said = " ".join(reply.text.split())
    if not said:
        return "the agent did not say that it is ready"
    return f"the agent said: {said[:_SAID]}{'...' if len(said) > _SAID else ''}"
