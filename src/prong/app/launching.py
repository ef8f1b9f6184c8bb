"""How a fork is run once it is there."""

from pathlib import Path

from prong.model import UNKNOWN_ID, Child, ForkPoint, Launch, Method, Session, SessionRef
from prong.ports import AgentStore, CanFork, CanLaunch, capable
from prong.record import replace


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
    store: AgentStore, child: Child, source: Session, method: Method, prompt: str | None
) -> Launch:
    """The command for a fork that is not made yet."""
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
