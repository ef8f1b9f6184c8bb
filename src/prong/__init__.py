"""Find the past coding-agent conversation that knows what you need, fork it, run the fork.

`prong.App` is the whole product as a Python API; the command line is a thin layer over it.
Names are loaded on first use, so that `import prong` stays cheap.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prong.app import App
    from prong.errors import ProngError
    from prong.model import (
        Conversation,
        ForkPoint,
        Message,
        Session,
        SessionRef,
        Turn,
    )

__version__ = "0.1.0"

__all__ = [
    "App",
    "Conversation",
    "ForkPoint",
    "Message",
    "ProngError",
    "Session",
    "SessionRef",
    "Turn",
    "__version__",
]

_HOME = {"App": "prong.app", "ProngError": "prong.errors"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'prong' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME.get(name, "prong.model")), name)
