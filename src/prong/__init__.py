"""Search, fork and run past coding-agent sessions.

    import prong

    result = prong.find("add rate limiting to the public API")
    print(result.hits[0].ref, result.hits[0].turn.prompt)

    fork = prong.fork("claude:60309e1e@12", into="/home/ada/experiment")
    print(fork.child, fork.launch.argv)

`prong.App` is the full Python API; the command line is a thin layer over it. Names are imported on
first use, so that `import prong` stays fast.
"""

__version__ = "0.1.0"

_HOME = {
    "App": "prong.app",
    "ForkRequest": "prong.forks.request",
    "ProngError": "prong.errors",
    "Worker": "prong.api.worker",
    **dict.fromkeys(("find", "fork", "plan_fork", "sessions", "turns"), "prong.api.functions"),
    **dict.fromkeys(("Hit", "SearchRequest", "SearchResult"), "prong.model.search"),
    **dict.fromkeys(("Fork", "ForkPlan", "ForkPoint"), "prong.model.forks"),
    **dict.fromkeys(
        ("Conversation", "Message", "Session", "SessionRef", "Turn"), "prong.model.sessions"
    ),
}
"""Where each public name is. `__init__.pyi` says the same to type checkers."""
__all__ = sorted([*_HOME, "__version__"])  # pyright: ignore[reportUnsupportedDunderAll]  # noqa: PLE0605


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'prong' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
