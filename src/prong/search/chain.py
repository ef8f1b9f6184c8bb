"""Search engine chain: tries engines in order until one answers."""

from collections.abc import Callable, Sequence
from typing import Protocol

from prong.model.record import replace
from prong.model.search import Answer, Attempt, SearchRequest

FILTERS = "filters"
"""Mode of an attempt whose hits were all removed by filters."""


class SearchEngine(Protocol):
    """A search back end. It reports failures in the answer instead of raising."""

    @property
    def name(self) -> str: ...

    def search(self, request: SearchRequest) -> Answer: ...


def ask(
    engines: Sequence[SearchEngine],
    request: SearchRequest,
    is_enough: Callable[[Answer, str], bool] = lambda _answer, _engine: True,
) -> tuple[Answer, str | None]:
    """Return the first answer with the attempts of all engines, and the engine's name or None.

    `is_enough` checks the hits of engines that do not know all filters: if none passes, the next
    engine is asked.
    """
    attempts: list[Attempt] = []
    best, name = Answer((), (), ok=False), None
    for engine in engines:
        answer = engine.search(request)
        attempts += answer.attempts
        if not answer.ok:
            continue
        best, name = answer, engine.name
        # No engine comes after the last one.
        if not answer.found or engine is engines[-1] or is_enough(answer, engine.name):
            break
        reason = "no hit matches the filters"
        attempts.append(Attempt(engine.name, FILTERS, error=reason, hits=0))
    return replace(best, attempts=tuple(attempts)), name
