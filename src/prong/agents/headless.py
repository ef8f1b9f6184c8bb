"""What a program printed that ran without a terminal."""

import re
from collections.abc import Iterable

from prong.record import Record

_COMPLAINT = re.compile(r"(?:Error|error|ERROR)\b.*|No conversation found.*")


class TurnOutput(Record, frozen=True):
    """The last turn in the output."""

    session_id: str | None = None
    is_over: bool = False
    reply: str = ""
    error: str | None = None


def complaint(line: str) -> str | None:
    """What a line says that is no event, when it tells why there will be none."""
    text = line.strip()
    return text if _COMPLAINT.match(text) else None


def is_event(line: str) -> bool:
    return line.lstrip().startswith("{")


def lines_of(output: Iterable[str]) -> Iterable[str]:
    """Lines without their ends."""
    return (line.rstrip("\r\n") for line in output)
