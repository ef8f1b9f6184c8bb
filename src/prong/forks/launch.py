"""Launch command of a fork that is not written yet."""

from __future__ import annotations

from prong.agents.base import AgentStore
from prong.agents.stores import AgentStores
from prong.model.forks import UNKNOWN_ID, ForkPlan, ForkPoint, Launch, Method
from prong.model.record import replace
from prong.model.sessions import Session, SessionRef


def store_of(stores: AgentStores, plan: ForkPlan) -> AgentStore:
    """Get the agent store of a fork, using the plan's command."""
    return stores.named(plan.agent).with_command(plan.command)


def launch_of_plan(stores: AgentStores, plan: ForkPlan) -> Launch:
    """Build the launch command of a planned fork."""
    store = store_of(stores, plan)
    if plan.method is Method.NATIVE:
        launch = store.native_fork(plan.source, plan.child, plan.prompt)
    elif is_started(store, plan.point, plan.method):
        launch = store.start(plan.child, plan.prompt)
    else:
        launch = store.resume(_session(store, plan), plan.workspace, plan.prompt)
    if plan.is_command and plan.prompt is not None:
        # The launcher makes it plain text, which is right for all that a person did not type.
        launch = replace(launch, argv=(*launch.argv[:-1], plan.prompt))
    return replace(launch, env={**plan.env, **launch.env})


def is_started(store: AgentStore, point: ForkPoint, method: Method) -> bool:
    """Return True if there is nothing to copy, so that a new session will do: before turn 1."""
    empty = method is Method.COPY and point.turn_id is None
    return empty and not store.writes_empty


def _session(store: AgentStore, plan: ForkPlan) -> Session:
    """Build a stand-in session for the fork; a launcher reads its root, but never its file."""
    id_ = plan.new_id or UNKNOWN_ID
    # A headless session may be restricted; a person will continue the fork.
    headless = plan.source.headless and store.name == plan.source.agent
    return replace(
        plan.source,
        ref=SessionRef(store.name, id_),
        file=str((plan.root or store.roots[0]) / id_),
        headless=headless or plan.method is Method.SEED,
    )
