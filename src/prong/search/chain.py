"""Engines one after another, until one has an answer."""

from collections.abc import Callable, Sequence

from prong.agents.base import SearchEngine
from prong.model.record import replace
from prong.model.search import Answer, Attempt, Query

FILTERS = "filters"
"""The mode of an attempt that found something, of which nothing was wanted."""


class Chain:
    """Asks the next engine only when the one before could not answer. Keeps the whole story."""

    def __init__(self, engines: Sequence[SearchEngine]) -> None:
        self.engines = tuple(engines)

    def ask(
        self,
        query: Query,
        is_enough: Callable[[Answer, str], bool] = lambda _answer, _engine: True,
    ) -> tuple[Answer, str | None]:
        """The first answer there is, with the attempts of all that were asked, and who gave it.

        Nobody gave it when none could answer. `is_enough` is asked about what an engine found, for
        engines that do not know all filters: when nothing of it is wanted, the next one is asked.
        """
        attempts: list[Attempt] = []
        best, name = Answer((), (), ok=False), None
        for engine in self.engines:
            answer = engine.search(query)
            attempts += answer.attempts
            if not answer.ok:
                continue
            best, name = answer, engine.name
            # Nobody is left to ask behind the last one.
            if not answer.found or engine is self.engines[-1] or is_enough(answer, engine.name):
                break
            why = "no hit matches the filters"
            attempts.append(Attempt(engine.name, FILTERS, error=why, hits=0))
        return replace(best, attempts=tuple(attempts)), name
