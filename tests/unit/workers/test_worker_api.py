"""`prong.Worker` and `prong.aio.Worker`: with a headless agent, which is as real as a pane."""

import asyncio
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

import prong
from prong import aio
from prong.errors import Busy, External, NotFound, Taken, UsageError
from prong.model.workers import WorkerState
from prong.processes.process import is_alive
from prong.testing.home import IsolatedHome
from tests.unit.workers import headless_claude


@pytest.fixture(autouse=True)
def _agent(isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    headless_claude.install(isolated_home, monkeypatch)
    yield
    with prong.App() as app:
        for one in app.workers.records.all():
            if one.process is not None and is_alive(one.process):
                app.workers.stop(one.name, force=True)


def create(home: IsolatedHome, name: str | None = None, prompt: str = "hello") -> prong.Worker:
    return prong.Worker.create(
        name, headless=True, project=home.project(), worktree=False, prompt=prompt
    )


def test_a_session_that_only_the_output_tells_is_gone_on_with(isolated_home: IsolatedHome) -> None:
    worker = create(isolated_home, "calm-otter")
    worker.wait_idle(20)
    before = worker.info().session
    with prong.App() as app:
        # As with an agent that chooses its ids, before anybody has looked.
        app.workers.records.change("calm-otter", session=None)
        app.workers.prompts.send("calm-otter", "what now?")
    worker.wait_idle(20)
    assert (worker.info().session, worker.info().turn) == (before, 2)


def test_a_turn_that_failed_is_no_empty_answer(isolated_home: IsolatedHome) -> None:
    worker = create(isolated_home)
    worker.wait_idle(20)
    with pytest.raises(External, match="API Error: 400"):
        worker.send("fail")


def test_two_turns_at_once_are_not_begun(isolated_home: IsolatedHome) -> None:
    create(isolated_home, "calm-otter").wait_idle(20)

    def send(text: str) -> bool:
        with prong.App() as app:
            try:
                app.workers.prompts.send("calm-otter", text)
            except Busy:
                return False
            return True

    with ThreadPoolExecutor() as pool:
        sent = list(pool.map(send, ["slow 2 a", "slow 2 b", "slow 2 c"]))
    assert sum(sent) == 1
    worker = prong.Worker.open("calm-otter")
    worker.wait_idle(20)
    assert worker.info().turn == 2


def test_each_of_several_senders_gets_its_own_answer(isolated_home: IsolatedHome) -> None:
    create(isolated_home, "calm-otter").wait_idle(20)
    texts = [f"question {number}" for number in range(6)]

    def send(text: str) -> str:
        return prong.Worker.open("calm-otter").send(text)

    with ThreadPoolExecutor(len(texts)) as pool:
        answers = list(pool.map(send, texts))
    assert answers == [f"echo: {text}" for text in texts]


def test_an_answer_stays_when_the_next_turn_is_cut_off(isolated_home: IsolatedHome) -> None:
    create(isolated_home, "calm-otter").wait_idle(20)
    with prong.App() as app:
        first = app.workers.prompts.ask("calm-otter", "one")
        assert first is not None
        app.workers.states.wait(["calm-otter"], timeout=20)
        second = app.workers.prompts.ask("calm-otter", "slow 60 two")
        assert second is not None
        app.workers.stop("calm-otter", force=True)
        assert app.workers.prompts.answer(first, 20)[1] == "echo: one"
        status, reply = app.workers.prompts.answer(second, 20)
        assert (status.state, reply) == (WorkerState.GONE, None)


@pytest.mark.parametrize("env", [{"A=B": "x"}, {"": "x"}, {"A": "x\0y"}])
def test_what_no_program_can_be_given_is_refused(
    isolated_home: IsolatedHome, env: dict[str, str]
) -> None:
    with pytest.raises(UsageError, match="cannot be set"):
        prong.Worker.create(headless=True, project=isolated_home.project(), prompt="x", env=env)


def test_a_conversation(isolated_home: IsolatedHome) -> None:
    id_ = str(uuid4())
    worker = prong.Worker.create(
        "calm-otter",
        id=id_,
        headless=True,
        project=str(isolated_home.project()),
        worktree=False,
        prompt="hello",
        model="opus",
    )
    worker.wait_idle(20)
    assert worker.state is WorkerState.IDLE
    assert worker.send("what now?", timeout=20) == "echo: what now?"
    info = worker.info()
    assert (info.name, info.agent, info.session) == ("calm-otter", "claude", id_)
    assert info.state is WorkerState.IDLE
    assert info.workspace == isolated_home.project()
    assert list(info.command) == ["claude", "--model", "opus"]
    assert (info.pane, info.fork, info.forked_from) == (None, None, None)
    assert info.turn == 2
    assert info.last_input == "what now?"
    assert prong.Worker.open("calm-otter").send("and now?", timeout=20) == "echo: and now?"
    worker.stop()
    assert worker.state is WorkerState.GONE


def test_names(isolated_home: IsolatedHome) -> None:
    made_up = create(isolated_home)
    assert made_up.name
    create(isolated_home, "calm-otter")
    with pytest.raises(Taken, match="calm-otter"):
        create(isolated_home, "calm-otter")
    with pytest.raises(NotFound, match="no worker named nobody"):
        prong.Worker.open("nobody")
    assert repr(made_up) == f"Worker('{made_up.name}')"


def test_a_worker_at_work_is_waited_for(isolated_home: IsolatedHome) -> None:
    worker = create(isolated_home, "calm-otter", "slow 1")
    assert worker.state is WorkerState.BUSY
    assert worker.send("next", timeout=30) == "echo: next"


def test_too_slow_is_busy_and_the_worker_goes_on(isolated_home: IsolatedHome) -> None:
    worker = create(isolated_home, "calm-otter", "slow 3")
    began = time.monotonic()
    with pytest.raises(Busy, match="calm-otter is still busy"):
        worker.wait_idle(0.5)
    with pytest.raises(Busy):
        worker.send("next", timeout=0.2)
    assert time.monotonic() - began < 3
    worker.wait_idle(20)
    assert worker.info().last_input == "slow 3"


def test_one_that_is_gone_is_not_waited_for(isolated_home: IsolatedHome) -> None:
    worker = create(isolated_home, "calm-otter", "slow 60")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(worker.wait_idle)
        worker.stop(force=True)
        with pytest.raises(External, match="calm-otter is gone") as error:
            waiting.result(20)
    assert error.value.hint == "prong restart calm-otter"


def test_leaving_the_block_stops_it(isolated_home: IsolatedHome) -> None:
    with create(isolated_home, "calm-otter", "slow 60") as worker:
        assert worker.state is WorkerState.BUSY
    assert worker.state is WorkerState.GONE


def test_a_clone_goes_its_own_way(isolated_home: IsolatedHome) -> None:
    worker = create(isolated_home, "calm-otter")
    worker.wait_idle(20)
    cloned = worker.clone("keen-lynx", timeout=20)
    assert cloned.send("beside", timeout=20) == "echo: beside"
    assert worker.send("here", timeout=20) == "echo: here"
    infos = [worker.info(), cloned.info()]
    assert [one.last_input for one in infos] == ["here", "beside"]
    assert [one.turn for one in infos] == [2, 2]
    assert infos[0].session != infos[1].session
    assert infos[0].workspace != infos[1].workspace
    assert [one.forked_from for one in infos] == [None, "calm-otter"]
    for make in (worker.fork, worker.clone):
        with pytest.raises(Taken):
            make("keen-lynx")


def test_a_session_that_nobody_knows_cannot_be_forked(isolated_home: IsolatedHome) -> None:
    worker = create(isolated_home, "calm-otter")
    worker.wait_idle(20)
    with prong.App() as app:
        app.workers.records.change("calm-otter", session=None, log=None)
    with pytest.raises(NotFound, match="the session of calm-otter is not known") as error:
        worker.fork("brave-wren")
    assert error.value.hint is not None
    assert "prong send calm-otter" in error.value.hint


# -- await ---------------------------------------------------------------------------------------


async def acreate(home: IsolatedHome, name: str, prompt: str = "hello") -> aio.Worker:
    return await aio.Worker.create(
        name, headless=True, project=home.project(), worktree=False, prompt=prompt
    )


def test_the_same_names_can_be_awaited(isolated_home: IsolatedHome) -> None:
    async def story() -> None:
        first, second = await asyncio.gather(
            acreate(isolated_home, "calm-otter"), acreate(isolated_home, "brave-wren")
        )
        replies = await asyncio.gather(
            first.send("a", timeout=30), second.send("b", timeout=30), return_exceptions=True
        )
        assert replies == ["echo: a", "echo: b"]
        assert await first.state is WorkerState.IDLE
        assert (await first.info()).last_input == "a"
        assert (await aio.Worker.open("calm-otter")).name == first.name == "calm-otter"
        assert repr(first) == "aio.Worker('calm-otter')"
        await first.wait_idle(10)
        await first.stop()
        assert await first.state is WorkerState.GONE
        async with second:
            pass
        assert await second.state is WorkerState.GONE
        with pytest.raises(NotFound):
            await aio.Worker.open("nobody")

    asyncio.run(story())


def test_both_have_the_same_names() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert public(prong.Worker) | {"name"} == public(aio.Worker)


def test_a_clone_of_one_that_is_gone_needs_no_waiting(isolated_home: IsolatedHome) -> None:
    async def story() -> None:
        worker = await acreate(isolated_home, "calm-otter")
        await worker.wait_idle(20)
        await worker.stop()
        cloned = await worker.clone("keen-lynx", timeout=20)
        assert await cloned.send("beside", timeout=20) == "echo: beside"
        assert (await cloned.info()).turn == 2

    asyncio.run(story())


def test_a_cancelled_wait_ends_and_the_worker_goes_on(isolated_home: IsolatedHome) -> None:
    async def story() -> None:
        worker = await acreate(isolated_home, "calm-otter", "slow 60")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await worker.send("next")
        assert await worker.state is WorkerState.BUSY

    began = time.monotonic()
    asyncio.run(story())  # which waits for every thread
    assert time.monotonic() - began < 20


def test_a_cancelled_start_leaves_no_worker_at_work(isolated_home: IsolatedHome) -> None:
    async def story() -> None:
        starting = asyncio.create_task(acreate(isolated_home, "calm-otter", "slow 60"))
        await asyncio.sleep(0.05)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting

    asyncio.run(story())
    with prong.App() as app:
        assert all(one.state is WorkerState.GONE for one in app.workers.states.all())
