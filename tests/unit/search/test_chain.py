from collections.abc import Callable
from dataclasses import dataclass, field

from prong.model.search import Answer, Attempt, Found, SearchRequest
from prong.search.service import ask

QUERY = SearchRequest("rate limiting")


@dataclass
class Engine:
    name: str
    answer: Answer
    asked: list[SearchRequest] = field(default_factory=list[SearchRequest])

    def search(self, request: SearchRequest) -> Answer:
        self.asked.append(request)
        return self.answer


def works(name: str, *found: Found) -> Engine:
    return Engine(name, Answer(found, (Attempt(name, "words", hits=len(found)),)))


def fails(name: str) -> Engine:
    return Engine(name, Answer((), (Attempt(name, "words", error="broken"),), ok=False))


def test_the_first_answer_counts_and_nobody_else_is_asked() -> None:
    first, second = works("first", Found(1, "a")), works("second", Found(1, "b"))
    answer, engine = ask([first, second], QUERY)
    assert (engine, answer) == ("first", first.answer)
    assert first.asked == [QUERY]
    assert not second.asked


def test_who_cannot_answer_is_passed_over_and_not_forgotten() -> None:
    answer, engine = ask([fails("one"), fails("two"), works("three", Found(1, "c"))], QUERY)
    assert engine == "three"
    assert answer.ok
    assert [found.session_id for found in answer.found] == ["c"]
    assert [(a.engine, a.error) for a in answer.attempts] == [
        ("one", "broken"),
        ("two", "broken"),
        ("three", None),
    ]


def test_no_hits_is_an_answer() -> None:
    answer, engine = ask([works("first"), works("second", Found(1, "b"))], QUERY)
    assert engine == "first"
    assert answer.ok
    assert not answer.found


def test_nobody_can_answer() -> None:
    answer, engine = ask([fails("one"), fails("two")], QUERY)
    assert engine is None
    assert not answer.ok
    assert [attempt.engine for attempt in answer.attempts] == ["one", "two"]


def wants(*ids: str) -> Callable[[Answer, str], bool]:
    return lambda answer, _engine: any(found.session_id in ids for found in answer.found)


def test_the_next_one_is_asked_when_nothing_of_an_answer_is_wanted() -> None:
    first, second = works("first", Found(1, "a")), works("second", Found(1, "b"))
    answer, engine = ask([first, second], QUERY, wants("b"))
    assert engine == "second"
    assert [found.session_id for found in answer.found] == ["b"]
    assert [(a.engine, a.mode, a.error, a.hits) for a in answer.attempts] == [
        ("first", "words", None, 1),
        ("first", "filters", "no hit matches the filters", 0),
        ("second", "words", None, 1),
    ]


def test_an_answer_of_which_something_is_wanted_is_enough() -> None:
    first, second = works("first", Found(1, "a"), Found(0, "b")), works("second", Found(1, "b"))
    assert ask([first, second], QUERY, wants("b")) == (first.answer, "first")
    assert not second.asked


def test_nothing_is_wanted_of_anybody() -> None:
    asked: list[str] = []

    def is_enough(_answer: Answer, engine: str) -> bool:
        asked.append(engine)
        return False

    engines = [works("one", Found(1, "a")), works("two", Found(1, "b"))]
    answer, engine = ask(engines, QUERY, is_enough)
    assert (engine, answer.ok) == ("two", True)
    assert asked == ["one"], "there is nobody behind the last one"
    assert [attempt.mode for attempt in answer.attempts] == ["words", "filters", "words"]


def test_an_answer_of_which_nothing_is_wanted_is_better_than_none() -> None:
    engines = [works("one", Found(1, "a")), fails("two")]
    answer, engine = ask(engines, QUERY, wants("b"))
    assert (engine, answer.ok) == ("one", True)
    assert [attempt.error for attempt in answer.attempts][-1] == "broken"


def test_nobody_is_there() -> None:
    assert ask([], QUERY) == (Answer((), (), ok=False), None)
