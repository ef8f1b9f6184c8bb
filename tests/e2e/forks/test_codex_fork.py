"""Codex threads forked at a turn, by Codex itself and by prong, and resumed by the real program."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import zstandard

from prong.agents.codex.store import CodexStore
from prong.agents.run import RunningProgram
from prong.errors import Busy, Taken, Unsupported, UsageError
from prong.files.publication import Publication
from prong.model.forks import Child, Cut, ForkPoint, Method
from prong.model.sessions import Activity, Conversation, Message, Session, SessionRef, Turn
from prong.testing.openai import FakeOpenAI
from prong.testing.script import Hold, Reply, Text
from prong.testing.wait import wait_until
from tests.drivers.codex_cli import CodexCli
from tests.drivers.codex_server import CodexServer
from tests.drivers.requests import Item, openai_items, records
from tests.e2e.labs.cache import ScenarioCache
from tests.e2e.scenario import Scenario
from tests.property.codex_sessions import Thread, legacy
from tests.unit.agents.stores import START, Codex, uuid

PROBE = "PROBE: and now?"
SUMMARY = "SUMMARY: the story so far."
WAYS = ("codex", "prong")


@dataclass
class Bench:
    """The real Codex in a throw-away home, and our store of its sessions."""

    cli: CodexCli
    server: FakeOpenAI
    store: CodexStore

    @property
    def root(self) -> Path:
        return self.cli.home.codex

    @property
    def elsewhere(self) -> Path:
        return self.cli.home.project("elsewhere")

    def take(self, scenario: Scenario) -> Session:
        """The sessions of a scenario, as if they had been made here."""
        shutil.copytree(scenario.root / "sessions", self.root / "sessions")
        return self.session(self.root / scenario.path.relative_to(scenario.root))

    def session(self, path: Path) -> Session:
        session = self.store.session_at(path)
        assert session is not None
        return session

    def turns(self, *prompts: str) -> Session:
        """A new thread with these turns."""
        cwd = self.cli.home.project()
        thread = self.cli.run(prompts[0], cwd).thread_id
        for prompt in prompts[1:]:
            self.cli.resume(thread, prompt, cwd)
        return self.session(self.cli.live_rollout(thread))

    def fork(
        self,
        session: Session,
        turn: Turn | None,
        way: str,
        *,
        full: bool = False,
        title: str | None = None,
    ) -> Session:
        """Fork a thread one of the two ways. Nothing that was there may change by it."""
        before = self.digests()
        cut = Cut(turn.id if turn else None, full)
        with closing(self.store.source(session)) as source, self.publication() as publication:
            wanted = str(uuid4()) if way == "prong" else None
            id_ = self.store.fork_id(Method.COPY, source, cut, wanted)
            assert (id_ is None) == (way == "codex")
            point = ForkPoint(session.ref, turn.index if turn else 0, cut.turn)
            child = Child(id_, self.elsewhere, point, title)
            made = self.store.copy(source, cut, child, publication)
        after = self.digests()
        assert {path: after[path] for path in before} == before
        assert set(after) - set(before) == {made.path}
        assert (made.parent, made.cwd) == (session.ref, str(self.elsewhere))
        return made

    def publication(self) -> Publication:
        return Publication(self.cli.home.root / "journal")

    def digests(self) -> dict[Path, str]:
        files = [path for path in self.root.rglob("rollout-*") if path.is_file()]
        return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    def sent(self, fork: Session) -> list[Item]:
        """What reaches the model before the prompt when the fork is resumed in its folder."""
        run = self.cli.resume(fork.id, PROBE, self.elsewhere)
        assert (run.code, run.thread_id) == (0, fork.id), run.stderr
        body = self.server.last_prompted(PROBE).body
        places = [text for text in texts(body) if "<environment_context>" in text]
        assert f"<cwd>{self.elsewhere}</cwd>" in places[-1]
        *before, last = openai_items(body)
        assert last == Item("user", PROBE)
        return before


def texts(body: dict[str, Any]) -> Iterator[str]:
    for entry in records(body["input"]):
        for part in records(entry.get("content")):
            yield str(part.get("text", ""))


def prompts(items: list[Item]) -> list[str]:
    return [item.text for item in items if item.role == "user"]


@pytest.fixture
def bench(codex_cli: CodexCli, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> Bench:
    for name, value in codex_cli.env().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{codex_cli.program.parent}{os.pathsep}{os.environ['PATH']}")
    return Bench(codex_cli, fake_openai, CodexStore([codex_cli.home.codex]))


def history(scenario: Scenario, turns: tuple[Turn, ...], count: int) -> list[Item]:
    """What Codex sent of the first turns when it resumed the whole thread."""
    items = openai_items(scenario.resume_request)
    following = turns[count].prompt if count < len(turns) else scenario.probe
    places = [at for at, item in enumerate(items) if item == Item("user", following)]
    return items[: places[-1]]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "name",
    ["tool_calls", "line_separators", "steered", "interrupt", "fork_of_fork", "revert_twice"],
)
def test_every_turn(name: str, way: str, codex_threads: ScenarioCache, bench: Bench) -> None:
    scenario = codex_threads.get(name)
    session = bench.take(scenario)
    turns = bench.store.conversation(session).turns
    for count, turn in enumerate(turns, start=1):
        fork = bench.fork(session, turn, way)
        assert fork.inherited == count
        assert bench.sent(fork) == history(scenario, turns, count)
        again = bench.store.conversation(bench.session(fork.path))
        assert [one.id for one in again.turns[:-1]] == [one.id for one in turns[:count]]
        assert again.turns[-1].prompt == PROBE


def test_a_turn_that_a_rewind_left_behind(codex_threads: ScenarioCache, bench: Bench) -> None:
    session = bench.take(codex_threads.get("revert"))
    last = bench.store.conversation(session).abandoned[-1]
    fork = bench.fork(session, last, "prong")
    assert prompts(bench.sent(fork)) == ["alpha one", "beta two", "gamma three"]
    with closing(bench.store.source(session)) as source:
        assert bench.store.fork_id(Method.COPY, source, Cut(last.id), None) is not None


@pytest.mark.parametrize("way", WAYS)
def test_a_compaction_behind_the_turn_is_part_of_it(
    way: str, codex_threads: ScenarioCache, bench: Bench
) -> None:
    session = bench.take(codex_threads.get("compact_then_turns"))
    turns = bench.store.conversation(session).turns
    before, behind, after = (bench.fork(session, turns[at], way) for at in (1, 2, 3))
    assert prompts(bench.sent(before)) == ["alpha one", "beta two"]
    alpha, beta, gamma, summary = bench.sent(behind)
    assert prompts([alpha, beta, gamma]) == ["alpha one", "beta two", "gamma three"]
    assert summary.text.endswith(SUMMARY)
    assert bench.sent(after)[:4] == [alpha, beta, gamma, summary]
    assert prompts(bench.sent(after))[4:5] == ["delta four"]


@pytest.mark.parametrize("name", ["compact_then_turns", "compact_twice", "compact_auto"])
def test_before_compaction(name: str, codex_threads: ScenarioCache, bench: Bench) -> None:
    session = bench.take(codex_threads.get(name))
    if name == "compact_auto":
        # Or the first prompt of the fork compacts it again.
        bench.cli.configure("model_auto_compact_token_limit = 2000000")
        bench.cli.configure("model_context_window = 3000000")
    turns = bench.store.conversation(session).turns
    for count, turn in enumerate(turns, start=1):
        if count <= bench.store.conversation(session).compactions[0] - 1:
            continue
        sent = bench.sent(bench.fork(session, turn, "prong", full=True))
        assert prompts(sent) == [one.prompt for one in turns[:count]]
        answers = [item for item in sent if item.role == "assistant"]
        assert len(answers) >= count
        assert not any(SUMMARY in item.text for item in sent)


def test_an_empty_fork(bench: Bench) -> None:
    session = bench.turns("alpha one")
    assert bench.sent(bench.fork(session, None, "prong")) == []


@pytest.mark.parametrize("way", WAYS)
def test_codex_and_prong_show_the_title(way: str, bench: Bench) -> None:
    session = bench.turns("alpha one", "beta two")
    turn = bench.store.conversation(session).turns[0]
    fork = bench.fork(session, turn, way, title="The other way")
    assert fork.title == "The other way"
    with CodexServer(bench.cli, bench.elsewhere) as server:
        assert server.call("thread/read", threadId=fork.id)["thread"]["name"] == "The other way"
    bench.cli.resume(fork.id, PROBE, bench.elsewhere)
    assert bench.session(fork.path).title == "The other way"


def test_a_busy_thread_forks_at_an_earlier_turn_only(bench: Bench) -> None:
    gate = threading.Event()
    session = bench.turns("alpha one")
    assert bench.store.activity(session) is Activity.CLOSED
    with CodexServer(bench.cli, bench.cli.home.project()) as server:
        server.resume_thread(session.id)
        assert bench.store.activity(session) is Activity.IDLE
        bench.server.enqueue(Reply(Hold(gate), Text("answer")))
        turn = server.start_turn(session.id, "beta two")
        bench.server.wait_for_prompt("beta two")
        # The last that Codex writes before an answer comes.
        wait_until(lambda: session.path.read_bytes().count(b'"UserMessage"') == 2, 30)
        assert bench.store.activity(session) is Activity.BUSY
        forks = [bench.fork(session, conversation(bench, session).turns[0], way) for way in WAYS]
        with closing(bench.store.source(session)) as source, bench.publication() as publication:
            running = source.conversation.turns[1]
            point = ForkPoint(session.ref, 2, running.id)
            for id_ in (None, str(uuid4())):
                child = Child(id_, bench.elsewhere, point)
                with pytest.raises(Busy):
                    bench.store.copy(source, Cut(running.id), child, publication)
        gate.set()
        server.finish_turn(turn)
        wait_until(lambda: bench.store.activity(session) is Activity.IDLE, 30)
    assert bench.store.activity(session) is Activity.CLOSED
    for fork in forks:
        assert prompts(bench.sent(fork)) == ["alpha one"]


def conversation(bench: Bench, session: Session) -> Conversation:
    return bench.store.conversation(session)


@pytest.mark.parametrize("how", ["archived", "packed"])
def test_what_codex_would_have_to_unpack_first(how: str, bench: Bench) -> None:
    session = bench.turns("alpha one", "beta two")
    if how == "archived":
        with CodexServer(bench.cli, bench.elsewhere) as server:
            server.call("thread/archive", threadId=session.id)
        (path,) = (bench.root / "archived_sessions").iterdir()
    else:
        path = session.path.with_suffix(".jsonl.zst")
        path.write_bytes(zstandard.compress(session.path.read_bytes()))
        session.path.unlink()
    session = bench.session(path)
    turn = conversation(bench, session).turns[0]
    with closing(bench.store.source(session)) as source:
        assert bench.store.fork_id(Method.COPY, source, Cut(turn.id), None) is not None
    assert prompts(bench.sent(bench.fork(session, turn, "prong"))) == ["alpha one"]


@pytest.mark.parametrize("bare", [False, True])
def test_a_thread_of_an_old_cli(bare: bool, bench: Bench) -> None:
    """The oldest form is one that Codex itself no longer reads."""
    codex = Codex(bench.root)
    thread = Thread(1, codex.new())
    for prompt in ("alpha one", "beta two", "gamma three"):
        thread.take(("turn", (prompt, 1)))
    path = codex.write(uuid(1), [legacy(thread, bare=bare)], time=START)
    session = bench.session(path)
    fork = bench.fork(session, conversation(bench, session).turns[1], "prong")
    assert prompts(bench.sent(fork)) == ["alpha one", "beta two"]
    again = conversation(bench, bench.session(fork.path))
    assert [turn.prompt for turn in again.turns] == ["alpha one", "beta two", PROBE]


def test_an_id_that_is_in_use(bench: Bench) -> None:
    session = bench.turns("alpha one")
    turn = conversation(bench, session).turns[0]
    child = Child(session.id, bench.elsewhere, ForkPoint(session.ref, 1, turn.id))
    before = bench.digests()
    with (
        closing(bench.store.source(session)) as source,
        pytest.raises(Taken),
        bench.publication() as publication,
    ):
        bench.store.copy(source, Cut(turn.id), child, publication)
    assert bench.digests() == before


def test_a_fork_of_a_fork_of_each_kind(bench: Bench) -> None:
    session = bench.turns("alpha one", "beta two", "gamma three")
    for way in WAYS:
        first = bench.fork(session, conversation(bench, session).turns[1], way)
        bench.sent(first)
        first = bench.session(first.path)
        for other in WAYS:
            turns = conversation(bench, first).turns
            second = bench.fork(first, turns[2], other)
            assert prompts(bench.sent(second)) == ["alpha one", "beta two", PROBE]


# -- the same without a turn to look for: native forks, seeds, conversions ------------------------


def child_of(bench: Bench, session: Session, title: str | None = None) -> Child:
    return Child(None, bench.elsewhere, ForkPoint(session.ref, 1), title, bench.root)


def name_of(bench: Bench, thread: str) -> str:
    with CodexServer(bench.cli, bench.elsewhere) as server:
        return server.call("thread/read", threadId=thread)["thread"]["name"]


def test_the_title_of_a_native_fork(bench: Bench) -> None:
    session = bench.turns("alpha one")
    thread = bench.store.fork_natively(session, child_of(bench, session, "The other way"))
    assert name_of(bench, thread) == "The other way"
    assert bench.session(bench.cli.live_rollout(thread)).title == "The other way"


def test_the_title_of_a_seed(bench: Bench) -> None:
    session = bench.turns("alpha one")
    child = child_of(bench, session, "The other way")
    with RunningProgram(bench.store.seed(child), "seed") as running:
        reply = bench.store.seeded(child, running.lines())
        assert running.wait() == 0
    assert reply.session_id
    assert name_of(bench, reply.session_id) == "The other way"
    # It can be used, and keeps the name.
    run = bench.cli.resume(reply.session_id, PROBE, bench.elsewhere)
    assert run.code == 0, run.stderr
    assert bench.session(bench.cli.live_rollout(reply.session_id)).title == "The other way"


@pytest.mark.parametrize("said", [[], [Message("user", "alpha", 1), Message("assistant", "a", 1)]])
def test_the_title_of_a_conversion(said: list[Message], bench: Bench) -> None:
    """Also one of nothing, before the first turn."""
    point = ForkPoint(SessionRef("claude", str(uuid4())), len(said), "turn" if said else None)
    child = Child(str(uuid4()), bench.elsewhere, point, "The other way", bench.root)
    with bench.publication() as publication:
        made = bench.store.convert(said, child, publication)
    assert name_of(bench, made.id) == "The other way"
    assert prompts(bench.sent(made)) == [one.text for one in said if one.role == "user"]


@pytest.mark.parametrize("inherited", [False, True])
def test_codex_may_not_unpack_the_source_for_a_native_fork(inherited: bool, bench: Bench) -> None:
    session = bench.turns("alpha one", "beta two")
    packed = session.path.with_suffix(".jsonl.zst")
    if inherited:
        turn = conversation(bench, session).turns[0]
        source = bench.fork(session, turn, "codex").path
    else:
        source = packed
    packed.write_bytes(zstandard.compress(session.path.read_bytes()))
    session.path.unlink()
    before = bench.digests()
    session = bench.session(source)
    for fork in (bench.store.native_fork, bench.store.fork_natively):
        with pytest.raises(UsageError, match=packed.name):
            fork(session, child_of(bench, session))
    assert bench.digests() == before


@pytest.mark.parametrize("way", WAYS)
def test_the_samples_of_the_demo(way: str, bench: Bench) -> None:
    ref = bench.store.write_samples(str(bench.cli.home.project()), datetime.now(UTC))
    session = bench.session(bench.cli.live_rollout(ref.id))
    turns = conversation(bench, session).turns
    for count, turn in enumerate(turns, start=1):
        fork = bench.fork(session, turn, way)
        assert prompts(bench.sent(fork)) == [one.prompt for one in turns[:count]]


def test_what_codex_cannot_read_is_copied(bench: Bench) -> None:
    """It refuses metadata that lack anything; a copy has all that it needs."""
    session = bench.turns("alpha one", "beta two")
    head, _, rest = session.path.read_text().partition("\n")
    line = json.loads(head)
    del line["payload"]["originator"]
    session.path.write_text(f"{json.dumps(line)}\n{rest}")
    session = bench.session(session.path)
    fork = bench.fork(session, conversation(bench, session).turns[0], "codex", title="A copy")
    assert UUID(fork.id).version == 7
    assert b"history_base" not in fork.path.read_bytes()
    assert name_of(bench, fork.id) == "A copy"
    assert prompts(bench.sent(fork)) == ["alpha one"]


def test_settings_of_the_base_command(bench: Bench) -> None:
    bench.store.command = ("env", "A=1", "codex", "-c", "model_verbosity=low", "-m", "x", "--yolo")
    session = bench.turns("alpha one")
    fork = bench.fork(session, conversation(bench, session).turns[0], "codex")
    assert prompts(bench.sent(fork)) == ["alpha one"]


def test_a_thread_that_is_named_like_a_flag(bench: Bench) -> None:
    session = bench.turns("alpha one")
    path = bench.cli.home.root / "from elsewhere.jsonl"
    path.write_bytes(session.path.read_bytes().replace(session.id.encode(), b"--yolo"))
    session = bench.session(path)
    assert session.id == "--yolo"
    with pytest.raises(Unsupported):
        bench.store.resume(session, bench.elsewhere)
    turn = conversation(bench, session).turns[0]
    with closing(bench.store.source(session)) as source, bench.publication() as publication:
        child = Child(str(uuid4()), bench.elsewhere, ForkPoint(session.ref, 1, turn.id))
        fork = bench.store.copy(source, Cut(turn.id), child, publication)
    assert prompts(bench.sent(fork)) == ["alpha one"]
