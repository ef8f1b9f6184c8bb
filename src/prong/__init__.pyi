# The public API, whose names `__init__.py` imports on first use.

from prong.api.functions import find as find
from prong.api.functions import fork as fork
from prong.api.functions import plan_fork as plan_fork
from prong.api.functions import sessions as sessions
from prong.api.functions import turns as turns
from prong.api.worker import Worker as Worker
from prong.app import App as App
from prong.errors import ProngError as ProngError
from prong.forks.request import ForkRequest as ForkRequest
from prong.model.forks import Fork as Fork
from prong.model.forks import ForkPlan as ForkPlan
from prong.model.forks import ForkPoint as ForkPoint
from prong.model.search import Hit as Hit
from prong.model.search import SearchRequest as SearchRequest
from prong.model.search import SearchResult as SearchResult
from prong.model.sessions import Conversation as Conversation
from prong.model.sessions import Message as Message
from prong.model.sessions import Session as Session
from prong.model.sessions import SessionRef as SessionRef
from prong.model.sessions import Turn as Turn

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

__version__: str

def __getattr__(name: str) -> object: ...  # pyright: ignore[reportIncompleteStub]
