"""How a fork is run once it is there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from prong.agents.base import AgentStore, CanFork, CanLaunch, capable
from prong.agents.command import commanded
from prong.model.forks import UNKNOWN_ID, Child, ForkPlan, ForkPoint, Launch, Method
from prong.model.record import replace
from prong.model.sessions import Session, SessionRef

if TYPE_CHECKING:
    from prong.app import App


def store_of(app: App, plan: ForkPlan) -> AgentStore:
    """The agent of a fork, started by the command that the plan says."""
    return commanded(app.store(plan.agent), plan.command)


def launch_of_plan(app: App, plan: ForkPlan) -> Launch:
    """The command for the fork that a plan describes."""
    store = store_of(app, plan)
    launch = launch_of(store, plan.child, plan.source, plan.method, plan.prompt, plan.env)
    if plan.is_command and plan.prompt is not None:
        # The agent would take it for words, which is right for all that a person did not type.
        launch = replace(launch, argv=(*launch.argv[:-1], plan.prompt))
    return launch


def is_started(store: AgentStore, point: ForkPoint, method: Method) -> bool:
    """True when there is nothing to write: a new session is as good as a fork before turn 1."""
    empty = method is Method.COPY and point.turn_id is None
    return empty and not capable(store, CanFork, "be forked").writes_empty


def root_of(store: AgentStore, source: Session, agent: str) -> Path:
    """The configuration folder of a fork: that of its source, where the agent is the same."""
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
    """The command for a fork that is not made yet, in this environment."""
    launch = _launch_of(store, child, source, method, prompt)
    return replace(launch, env={**env, **launch.env})


def _launch_of(
    store: AgentStore, child: Child, source: Session, method: Method, prompt: str | None
) -> Launch:
    launcher = capable(store, CanLaunch, "be started")
    if method is Method.NATIVE:
        return launcher.native_fork(source, child, prompt)
    if is_started(store, child.parent, method):
        return launcher.start(child, prompt)
    return launcher.resume(_session(store, child, source, method), child.cwd, prompt)


def _session(store: AgentStore, child: Child, source: Session, method: Method) -> Session:
    """The fork as far as it is known: who reads it looks at its root, never at the file."""
    id_ = child.id or UNKNOWN_ID
    root = child.root or store.roots[0]
    # What a program alone has used may have been restricted; a person is to go on with it.
    headless = source.headless if store.name == source.agent else False
    return replace(
        source,
        ref=SessionRef(store.name, id_),
        file=str(root / id_),
        headless=headless or method is Method.SEED,
    )
