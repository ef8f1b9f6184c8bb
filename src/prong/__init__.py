"""Search, fork and run past coding-agent sessions.

    import prong

    result = prong.find("add rate limiting to the public API")
    print(result.hits[0].ref, result.hits[0].turn.prompt)

    fork = prong.fork("claude:60309e1e@12", into="/home/ada/experiment")
    print(fork.child, fork.launch.argv)

`prong.App` is the full Python API; the command line is a thin layer over it. Names are imported on
first use, so that `import prong` stays fast.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prong.api.functions import find, fork, plan_fork, sessions, turns
    from prong.api.worker import Worker
    from prong.app import App
    from prong.errors import ProngError
    from prong.forks.request import ForkRequest
    from prong.model.forks import Fork, ForkPlan, ForkPoint
    from prong.model.search import Hit, SearchRequest, SearchResult
    from prong.model.sessions import Conversation, Message, Session, SessionRef, Turn

__version__ = "0.1.0"

__all__ = [
    "App",
    "Conversation",
    "Fork",
    "ForkPlan",
    "ForkPoint",
    "ForkRequest",
    "Hit",
    "Message",
    "ProngError",
    "SearchRequest",
    "SearchResult",
    "Session",
    "SessionRef",
    "Turn",
    "Worker",
    "__version__",
    "find",
    "fork",
    "plan_fork",
    "sessions",
    "turns",
]

_HOME = {
    "App": "prong.app",
    "ForkRequest": "prong.forks.request",
    "ProngError": "prong.errors",
    "Worker": "prong.api.worker",
    **dict.fromkeys(("find", "fork", "plan_fork", "sessions", "turns"), "prong.api.functions"),
    **dict.fromkeys(("Hit", "SearchRequest", "SearchResult"), "prong.model.search"),
    **dict.fromkeys(("Fork", "ForkPlan", "ForkPoint"), "prong.model.forks"),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'prong' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME.get(name, "prong.model.sessions")), name)
