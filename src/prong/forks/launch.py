"""Launch command of a fork."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from prong.agents.base import AgentStore
from prong.agents.stores import AgentStores
from prong.model.forks import UNKNOWN_ID, Child, ForkPlan, ForkPoint, Launch, Method
from prong.model.record import replace
from prong.model.sessions import Session, SessionRef


def store_of(stores: AgentStores, plan: ForkPlan) -> AgentStore:
    """Get the agent store of a fork, using the plan's command."""
    return stores.named(plan.agent).with_command(plan.command)


def launch_of_plan(stores: AgentStores, plan: ForkPlan) -> Launch:
    """Build the launch command of a planned fork."""
    store = store_of(stores, plan)
    launch = launch_of(store, plan.child, plan.source, plan.method, plan.prompt, plan.env)
    if plan.is_command and plan.prompt is not None:
        # The launcher makes it plain text, which is right for all that a person did not type.
        launch = replace(launch, argv=(*launch.argv[:-1], plan.prompt))
    return launch


def is_started(store: AgentStore, point: ForkPoint, method: Method) -> bool:
    """Return True if there is nothing to copy, so that a new session will do: before turn 1."""
    empty = method is Method.COPY and point.turn_id is None
    return empty and not store.writes_empty


def root_of(store: AgentStore, source: Session, agent: str) -> Path:
    """Choose the root of a fork: that of its source if the agent is the same."""
    roots = store.roots
    if agent == source.agent:
        return next((root for root in roots if source.path.is_relative_to(root)), roots[0])
    return roots[0]


def launch_of(
    store: AgentStore,
    child: Child,
    source: Session,
    method: Method,
    prompt: str | None,
    env: Mapping[str, str],
) -> Launch:
    """Build the launch command of a fork that is not written yet."""
    launch = _launch_of(store, child, source, method, prompt)
    return replace(launch, env={**env, **launch.env})


def _launch_of(
    store: AgentStore, child: Child, source: Session, method: Method, prompt: str | None
) -> Launch:
    if method is Method.NATIVE:
        return store.native_fork(source, child, prompt)
    if is_started(store, child.parent, method):
        return store.start(child, prompt)
    return store.resume(_session(store, child, source, method), child.cwd, prompt)


def _session(store: AgentStore, child: Child, source: Session, method: Method) -> Session:
    """Build a stand-in session for the fork; a launcher reads its root, but never its file."""
    id_ = child.id or UNKNOWN_ID
    root = child.root or store.roots[0]
    # A headless session may be restricted; a person will continue the fork.
    headless = source.headless if store.name == source.agent else False
    return replace(
        source,
        ref=SessionRef(store.name, id_),
        file=str(root / id_),
        headless=headless or method is Method.SEED,
    )
