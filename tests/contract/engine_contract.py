"""What every search engine must do.

class TestMyEngine(SearchEngineContract):
    @pytest.fixture
    def engine(self, tmp_path):
        return MyEngine(something_with_sessions(tmp_path))

    @pytest.fixture
    def text(self):
        return "words of one of these sessions"
"""

from itertools import pairwise

import pytest

from prong.model.search import Answer, SearchRequest
from prong.search.service import SearchEngine

ODD_TEXTS = [
    "",
    " \t\n",
    "-",
    "--help",
    "-c other -n 1",
    "a\0b",
    "two\nlines\r\nor\u2028three",
    '"never closed',
    "(a AND [b OR {c NOT",
    "lex: title:* ^~ a:b \\ ' ; $(true) `true` %s %00",
    "the of and",
    "\U0001f600 \u202e\u200b",
    "\ud800 lone \udfff",
    "会話を見つける",
    "x" * 10_000,
    "word " * 10_000,
]


class SearchEngineContract:
    """Requirements for every `SearchEngine`."""

    @pytest.fixture
    def engine(self) -> SearchEngine:
        raise NotImplementedError("give an engine over one session or more")

    @pytest.fixture
    def text(self) -> str:
        raise NotImplementedError("give words of one of the sessions")

    @pytest.fixture
    def answer(self, engine: SearchEngine, text: str) -> Answer:
        return engine.search(SearchRequest(text))

    def test_it_has_a_name(self, engine: SearchEngine) -> None:
        assert engine.name.isidentifier()

    def test_what_is_there_is_found(self, answer: Answer) -> None:
        assert answer.ok
        assert answer.found
        assert all(found.session_id or found.source for found in answer.found)

    def test_the_best_comes_first_and_scores_are_between_0_and_1(self, answer: Answer) -> None:
        assert all(0 <= found.score <= 1 for found in answer.found)
        assert all(better.score >= worse.score for better, worse in pairwise(answer.found))

    def test_marks_stand_in_the_passage_one_after_another(self, answer: Answer) -> None:
        for passage in filter(None, (found.passage for found in answer.found)):
            positions = [0, *(position for mark in passage.marks for position in mark)]
            assert positions == sorted(positions)
            assert positions[-1] <= len(passage.text)
            assert all(start < end for start, end in passage.marks)

    def test_the_answer_tells_what_was_tried(self, engine: SearchEngine, answer: Answer) -> None:
        assert answer.attempts
        for attempt in answer.attempts:
            assert attempt.engine == engine.name
            assert attempt.mode
            assert attempt.seconds >= 0
            assert attempt.error or not attempt.skipped
        assert any(attempt.hits for attempt in answer.attempts)

    def test_the_same_question_has_the_same_answer(
        self, engine: SearchEngine, text: str, answer: Answer
    ) -> None:
        assert engine.search(SearchRequest(text)).found == answer.found

    def test_of_what_is_nowhere_nothing_is_found(self, engine: SearchEngine) -> None:
        assert not engine.search(SearchRequest("qzxvkjwq wqjkvxzq")).found

    @pytest.mark.parametrize("odd", ODD_TEXTS, ids=range(len(ODD_TEXTS)))
    def test_an_odd_question_is_answered_like_any_other(
        self, engine: SearchEngine, odd: str
    ) -> None:
        answer = engine.search(SearchRequest(odd))
        assert all(0 <= found.score <= 1 for found in answer.found)
        assert all(attempt.engine == engine.name for attempt in answer.attempts)
