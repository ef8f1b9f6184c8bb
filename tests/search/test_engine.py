"""The built-in engine alone, over turns that a test makes up."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prong.model.search import Found, SearchRequest
from prong.model.turn_text import FileTexts, Stamp, TurnText
from prong.search.builtin import BuiltIn, Name, SearchScope, Standing
from prong.search.index import SearchIndex
from prong.search.lexical import Scope
from prong.search.query_terms import words_of

JANUARY, FEBRUARY = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"


class Engine:
    """An index and the engine over it. Every session is of its own family, unless told."""

    def __init__(self, folder: Path) -> None:
        self.index = SearchIndex(folder)
        self.family: Callable[[Name], Name] = lambda name: name
        self.folders: Callable[[Name], tuple[str, ...]] = lambda _: ()
        self._files = itertools.count()

    def add(self, session: str, *turns: TurnText, agent: str = "claude") -> None:
        number = next(self._files)
        with self.index.writing() as update:
            assert update is not None
            texts = FileTexts(f"/{session}/{number}", Stamp(1, number, number), session, turns)
            update.add(agent, texts, None)

    def find(self, text: str, *, ids: set[str] | None = None, limit: int = 10) -> list[Found]:
        shelf = SearchScope(
            lambda name: Standing(self.family(name), folders=self.folders(name)), turn_ids=ids
        )
        query = SearchRequest(text, fast=True, limit=limit, has_snapshot=ids is not None)
        return list(BuiltIn(self.index, shelf).search(query).found)

    def groups(self, text: str) -> set[frozenset[str]]:
        """The sessions of each hit."""
        return {
            frozenset((str(hit.session_id), *(ref.id for ref, _ in hit.copies)))
            for hit in self.find(text)
        }


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = Engine(tmp_path / "index")
    yield made
    made.index.close()


def turn(id_: str, prompt: str, started: str | None = JANUARY, number: int | None = 1) -> TurnText:
    return TurnText(id_, number, "human", started, prompt, "", "")


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_copies_are_found_through_a_third_one(engine: Engine, order: tuple[int, ...]) -> None:
    """The first has its id from the second, and the third its words."""
    engine.family = lambda _: ("claude", "root")
    places = [
        ("early", turn("x", "griffin")),
        ("root", turn("x", "griffin grown")),
        ("fork", turn("y", "griffin grown", FEBRUARY)),
    ]
    for place in order:
        session, one = places[place]
        engine.add(session, one)
    assert engine.groups("griffin") == {frozenset(("early", "root", "fork"))}


def test_without_a_time_equal_words_are_no_copies(engine: Engine) -> None:
    engine.add("a", turn("p", "griffin", None))
    engine.add("b", turn("q", "griffin", None))
    assert engine.groups("griffin") == {frozenset("a"), frozenset("b")}


def test_an_agent_may_number_its_turns(engine: Engine) -> None:
    engine.add("a", turn("1", "a green griffin", JANUARY))
    engine.add("b", turn("1", "a red griffin", FEBRUARY))
    assert engine.groups("griffin") == {frozenset("a"), frozenset("b")}


def test_a_numbered_turn_of_a_fork_is_no_copy_of_its_parents(engine: Engine) -> None:
    engine.family = lambda _: ("claude", "a")
    engine.add("a", turn("2", "a green griffin", JANUARY, 2))
    engine.add("b", turn("2", "a red griffin", FEBRUARY, 2))
    assert engine.groups("griffin") == {frozenset("a"), frozenset("b")}


def test_the_same_turns_of_a_session_and_of_its_fork_are_paired(engine: Engine) -> None:
    engine.family = lambda _: ("claude", "a")
    engine.add("a", turn("p", "griffin", JANUARY, 1), turn("q", "griffin", FEBRUARY, 3))
    engine.add("b", turn("r", "griffin", None, 1), turn("s", "griffin", None, 3))
    found = {
        (hit.turn.index, tuple(number for _, number in hit.copies))
        for hit in engine.find("griffin")
        if hit.turn
    }
    assert found == {(1, (1,)), (3, (3,))}


def test_turns_with_a_snapshot_are_found_behind_any_number_of_others(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prong.search.builtin._POOL", 2)
    others = [turn(f"id{number}", f"griffin {number}", number=number) for number in range(300)]
    long = "the griffin, at last, in so many words that every other turn fits better than this one"
    engine.add("a", *others)
    engine.add("b", turn("kept", long, FEBRUARY))
    assert [hit.session_id for hit in engine.find("griffin", ids={"kept"})] == ["b"]
    assert engine.find("griffin", ids={"gone"}) == []
    assert engine.find("griffin", ids=set()) == []


def test_a_session_with_very_many_turns_hides_no_other(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prong.search.builtin._POOL", 2)
    turns = [turn(f"id{number}", f"griffin {number}", number=number) for number in range(300)]
    engine.add("a", *turns)
    engine.add("b", turn("last", "the griffin, at last, in many more words than there", FEBRUARY))
    assert sorted(str(hit.session_id) for hit in engine.find("griffin")) == ["a", "a", "a", "b"]


def test_the_turn_that_made_a_commit_is_found_by_its_subject(engine: Engine) -> None:
    """Others speak of it; this one has nothing but the command."""
    subject = "fix(io): remove the old cache"
    commit = TurnText(
        "c", 1, "human", JANUARY, "ship it", "", "", commands=(f'git commit -m "{subject}"',)
    )
    engine.add("maker", turn("m", "tests of the parser"), commit)
    for name in ("one", "two", "three"):
        engine.add(name, turn(name, "remove the old cache, fix the io of the old cache", FEBRUARY))
    assert engine.find(subject)[0].session_id == "maker"
    assert engine.find("remove cache")[0].session_id != "maker"


def test_a_session_beside_the_best_one_is_listed_before_others(engine: Engine) -> None:
    cases = {"best": JANUARY, "later": FEBRUARY, "beside": "2026-01-01T02:00:00Z"}
    for name, started in cases.items():
        said = "a queue for slow uploads" if name == "best" else "a queue"
        engine.add(name, turn(name, said, started))
    _, one, other = engine.find("queue for slow uploads")
    assert one.score == other.score
    engine.folders = lambda _: ("/shop",)
    found = [hit.session_id for hit in engine.find("queue for slow uploads")]
    assert found == ["best", "beside", "later"]


def test_a_session_is_known_by_what_was_asked_and_what_came_of_it(engine: Engine) -> None:
    said = f"Painted the griffin. {'Then more. ' * 200} At last the wyvern."
    all_said = f"Looking at a kraken.\n{said}"
    asked = TurnText("1", 1, "human", JANUARY, "Paint a hydra", all_said, said)
    engine.add("a", asked)
    known = engine.index.words.sessions
    assert known(words_of("hydra"), Scope(), 10)
    assert known(words_of("griffin"), Scope(), 10)
    # What was said on the way, or behind a long answer's beginning, only the turn has.
    for word in ("kraken", "wyvern"):
        assert not known(words_of(word), Scope(), 10)
        assert [hit.session_id for hit in engine.find(word)] == ["a"]
