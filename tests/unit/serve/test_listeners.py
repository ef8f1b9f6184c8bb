"""Events reach everybody who listens, in order; nobody can stop the others."""

import pytest

from prong.serve import events
from prong.serve.events import Events


def test_everybody_hears_all_in_order() -> None:
    told = Events()
    told.tell("before")
    with told.listening() as one, told.listening() as other:
        for number in range(5):
            told.tell("worker_state", worker=str(number))
        for listener in (one, other):
            heard = [listener.next(1) for _ in range(5)]
            assert [event["worker"] for event in heard if event] == list("01234")
            assert [event["number"] for event in heard if event] == [2, 3, 4, 5, 6]
            assert listener.next(0.01) is None


def test_who_does_not_listen_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_BEHIND", 3)
    told = Events()
    with told.listening() as slow:
        for _ in range(10):
            told.tell("worker_state")
        assert [event["number"] for _ in range(3) if (event := slow.next(1))] == [1, 2, 3]
        with pytest.raises(EOFError):
            slow.next(60)


def test_the_end_wakes_those_who_listen() -> None:
    told = Events()
    with told.listening() as one:
        told.tell("worker_gone")
        told.close()
        assert one.next(60) is not None
        with pytest.raises(EOFError):
            one.next(60)
    with told.listening() as late, pytest.raises(EOFError):
        late.next(60)
