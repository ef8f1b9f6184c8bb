"""Errors that prong raises on purpose, with exit codes.

    ProngError
    +-- UsageError        2    invalid arguments
    |   +-- ConfigError   2    invalid configuration
    |   `-- Taken         2    the requested id or name is in use
    +-- NotFound          3    no such session, turn or worker
    |   `-- Ambiguous     3    several match
    +-- Busy              4    the agent is busy
    +-- Dirty             4    unsaved work is in the way
    +-- Unavailable       5    a program is missing, or memory
    +-- Unsupported       6    the agent cannot do that
    +-- Corrupt           7    nothing in a file is usable
    `-- External          8    a program failed

Anything else that escapes is a bug: code `internal`, exit status 1. An interrupt exits with 130.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, ClassVar

_MEMORY_HINT = "close programs, raise the limit (ulimit -v), or name one session instead of all"


class ProngError(Exception):
    """Error with a message for people, a hint what to type, and details for programs."""

    code: ClassVar[str] = "internal"
    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, *, hint: str | None = None, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details

    def problem(self) -> dict[str, Any]:
        """Return the form in which the CLI, MCP and HTTP report the error."""
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "details": self.details,
        }


class UsageError(ProngError):
    code = "usage"
    exit_code = 2
    http_status = 400


class ConfigError(UsageError):
    code = "config"


class Taken(UsageError):
    code = "taken"
    http_status = 409


class NotFound(ProngError):
    code = "not_found"
    exit_code = 3
    http_status = 404


class Ambiguous(NotFound):
    code = "ambiguous"
    http_status = 409


class Busy(ProngError):
    code = "busy"
    exit_code = 4
    http_status = 409


class Dirty(ProngError):
    code = "dirty"
    exit_code = 4
    http_status = 409


class Unavailable(ProngError):
    code = "unavailable"
    exit_code = 5
    http_status = 503


class Unsupported(ProngError):
    code = "unsupported"
    exit_code = 6
    http_status = 501


class Corrupt(ProngError):
    code = "corrupt"
    exit_code = 7
    http_status = 422


class External(ProngError):
    code = "external"
    exit_code = 8
    http_status = 502


def out_of_memory() -> Unavailable:
    return Unavailable("not enough memory", hint=_MEMORY_HINT)


@contextmanager
def memory_checked() -> Generator[None]:
    """Raise `Unavailable` where Python raises `MemoryError`."""
    is_enough = True
    try:
        yield
    except MemoryError:
        is_enough = False  # first release the traceback and the objects it holds
    if not is_enough:
        raise out_of_memory()
