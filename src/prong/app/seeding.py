"""A fork by seed: the transcript is given to the agent as its first prompt, without a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prong.app import planning
from prong.app.outcome import Made
from prong.app.planning import capable
from prong.app.running import Running
from prong.errors import External
from prong.model import Child, ForkPlan
from prong.ports import CanSeed, ForkSource, SeedReply
from prong.transcripts.acknowledgement import is_ready

if TYPE_CHECKING:
    from prong.app.application import App

_SAID = 300


def seeded(app: App, plan: ForkPlan, source: ForkSource) -> Made:
    """Submit the seed; the agent makes a session of it and says that it is ready."""
    agent = app.store(plan.agent)
    store = capable(agent, CanSeed, "be seeded")
    made = planning.seed_of(source, agent, plan)
    child = Child(plan.new_id, plan.workspace, plan.point, plan.title)
    launch = store.seed(child)
    with Running(launch, made.text) as running:
        reply = store.seeded(child, running.lines())
        status = running.wait()
    if reply.session_id is None or reply.error:
        raise External(
            f"{launch.argv[0]} did not take the seed: {reply.error or 'no session was made'}",
            hint="prong doctor",
            argv=list(launch.argv),
            status=status,
            stderr=running.complaints,
            session=reply.session_id,
        )
    ready = is_ready(reply.text)
    return Made(
        reply.session_id,
        app.path_of(plan.agent, reply.session_id),
        seed_hash=made.digest,
        acknowledged=ready,
        warnings=() if ready else (_unexpected(reply),),
    )


def _unexpected(reply: SeedReply) -> str:
    said = " ".join(reply.text.split())
    if not said:
        return "the agent did not say that it is ready"
    return f"the agent said: {said[:_SAID]}{'...' if len(said) > _SAID else ''}"
