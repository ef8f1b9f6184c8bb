"""Events reach everybody who listens, in order; nobody can stop the others."""

import asyncio

import pytest

from prong.serve import events
from prong.serve.events import Events


def test_everybody_hears_all_in_order() -> None:
    async def listen() -> None:
        told = Events()
        told.tell("before")
        with told.listening() as one, told.listening() as other:
            for number in range(5):
                await asyncio.to_thread(told.tell, "worker_state", worker=str(number))
            for listener in (one, other):
                heard = [await listener.next(1) for _ in range(5)]
                assert [event["worker"] for event in heard if event] == list("01234")
                assert [event["number"] for event in heard if event] == [2, 3, 4, 5, 6]
                assert await listener.next(0.01) is None

    asyncio.run(listen())


def test_who_does_not_listen_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_MAX_BEHIND", 3)

    async def listen() -> None:
        told = Events()
        with told.listening() as slow:
            for _ in range(4):
                told.tell("worker_state")
            await asyncio.sleep(0)
            assert await slow.next(1) is not None
            for _ in range(4):
                told.tell("worker_state")
            await asyncio.sleep(0)
            with pytest.raises(EOFError):
                await slow.next(60)

    asyncio.run(listen())


def test_the_end_wakes_those_who_listen() -> None:
    async def listen() -> None:
        told = Events()
        with told.listening() as one:
            told.tell("worker_gone")
            waiting = asyncio.create_task(one.next(60))
            assert await waiting is not None
            waiting = asyncio.create_task(one.next(60))
            await asyncio.sleep(0)
            told.close()
            with pytest.raises(EOFError):
                await waiting
        with told.listening() as late, pytest.raises(EOFError):
            await late.next(60)

    asyncio.run(listen())
