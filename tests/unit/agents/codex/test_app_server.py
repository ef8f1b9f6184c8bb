"""The client of `codex app-server`, against programs that behave like it, or badly."""

import json
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from prong.agents.codex import app_server
from prong.agents.codex.app_server import AppServer, Refused
from prong.errors import Busy, Corrupt, External
from prong.model import Child, Cut, ForkPoint, Method, Session
from prong.publication import Publication
from tests.unit.agents.codex.forks import thread, write
from tests.unit.agents.stores import Codex, uuid

Program = Callable[[str], str]

LOOP = """
def say(**message):
    print(json.dumps(message), flush=True)

for line in sys.stdin:
    call = json.loads(line)
    with open(os.environ["CODEX_HOME"] + "/calls", "a") as log:
        log.write(line)
    if "id" in call:
        answer(call)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Puts a program `codex` on the path: Python lines that may define `answer(call)`."""

    def make(body: str) -> str:
        path = tmp_path / "bin" / "codex"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!{sys.executable}\nimport json, os, sys, time\n{body}")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(path.parent))
        return str(path)

    return make


def calls(root: Path) -> list[str]:
    return [json.loads(line)["method"] for line in (root / "calls").read_text().splitlines()]


def test_a_call_and_its_answer(program: Program, root: Path) -> None:
    path = program(
        """
def answer(call):
    # What else a server has to say, before the answer.
    print("not JSON")
    say(method="thread/started", params={})
    say(id=call["id"], method="item/askUser", params={})
    say(id=call["id"] + 100, result={"wrong": True})
    say(id=call["id"], result={"you said": call["params"]})
"""
        + LOOP
    )
    with AppServer(path, root) as server:
        assert server.call("thread/read", threadId="x\u2028y") == {
            "you said": {"threadId": "x\u2028y"}
        }
    assert calls(root) == ["initialize", "initialized", "thread/read"]


def test_a_server_that_talks_a_lot(program: Program, root: Path) -> None:
    path = program(
        """
def answer(call):
    sys.stderr.write("complaint " * 100_000)
    say(id=call["id"], result={"long": "x" * 1_000_000})
    say(method="more", params="x" * 1_000_000)
"""
        + LOOP
    )
    with AppServer(path, root) as server:
        assert len(server.call("thread/read")["long"]) == 1_000_000


def test_a_refusal(program: Program, root: Path) -> None:
    path = program(
        """
def answer(call):
    if call["method"] == "initialize":
        say(id=call["id"], result={})
    else:
        say(id=call["id"], error={"code": -32600, "message": "no such thread"})
"""
        + LOOP
    )
    with AppServer(path, root) as server, pytest.raises(Refused, match="no such thread"):
        server.call("thread/fork")


def test_a_program_that_ends(program: Program, root: Path) -> None:
    path = program('sys.stderr.write("x" * 5000 + "bad config.toml"); sys.exit(3)')
    with pytest.raises(External) as caught, AppServer(path, root):
        pass
    details = caught.value.details
    assert details["argv"] == [path, "app-server"]
    assert details["status"] == 3
    assert details["stderr"].endswith("bad config.toml")
    assert len(details["stderr"]) <= 2000


def test_a_program_that_does_not_answer(program: Program, root: Path) -> None:
    path = program(
        """
def answer(call):
    if call["method"] == "initialize":
        say(id=call["id"], result={})
"""
        + LOOP
    )
    with AppServer(path, root) as server, pytest.raises(External, match="did not answer"):
        server.call("thread/fork", timeout=0.05)


def test_a_program_that_does_not_end(
    program: Program, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_server, "_CLOSING", 0.1)
    path = program(
        """
def answer(call):
    say(id=call["id"], result={"pid": os.getpid()})
"""
        + LOOP
        + "time.sleep(600)"
    )
    with AppServer(path, root) as server:
        pid = server.call("pid")["pid"]
    assert not Path(f"/proc/{pid}").exists()


def test_a_program_that_cannot_be_started(tmp_path: Path, root: Path) -> None:
    (tmp_path / "codex").write_text("no program")
    with (
        pytest.raises(External, match="cannot be started"),
        AppServer(str(tmp_path / "codex"), root),
    ):
        pass


# -- forks through it ------------------------------------------------------------------------------

FORK = """
def answer(call):
    params = call["params"]
    if call["method"] == "thread/fork":
        path = os.environ["CODEX_HOME"] + "/sessions/rollout-2026-11-01T12-00-00-FORK.jsonl"
        with open(path.replace("FORK", "{fork}"), "w") as file:
            file.write(json.dumps({line}) + "\\n")
        say(id=call["id"], result={{"thread": {{"id": "{fork}", "path": file.name}}}})
    elif call["method"] == "thread/delete":
        os.unlink(os.environ["CODEX_HOME"] + "/sessions/rollout-2026-11-01T12-00-00-{fork}.jsonl")
        say(id=call["id"], result={{}})
    else:
        say(id=call["id"], result={{}})
"""


def forking(codex: Codex, end: int) -> str:
    """A program that makes forks, all with the same end."""
    sample = codex.new()
    sample.ends = [end]
    fork = uuid(2)
    return FORK.format(fork=fork, line=repr(sample.fork(fork, 1).lines[0])) + LOOP


@pytest.fixture
def session(codex: Codex) -> Session:
    write(codex, thread(codex, "one", "two", "three"))
    return codex.session(uuid(1))


def fork(codex: Codex, session: Session, tmp_path: Path, title: str | None = None) -> Session:
    """Fork at the second turn."""
    with closing(codex.store.source(session)) as source, Publication(tmp_path / "j") as publication:
        cut = Cut(source.conversation.turns[1].id)
        assert codex.store.fork_id(Method.COPY, source, cut, None) is None
        child = Child(None, tmp_path, ForkPoint(session.ref, 2, cut.turn), title)
        return codex.store.copy(source, cut, child, publication)


def test_codex_makes_the_fork(
    codex: Codex, session: Session, program: Program, tmp_path: Path
) -> None:
    program(forking(codex, thread(codex, "one", "two").ends[1]))
    made = fork(codex, session, tmp_path, "my title")
    assert (made.id, made.parent, made.inherited) == (uuid(2), session.ref, 2)
    said = [json.loads(line) for line in (codex.root / "calls").read_text().splitlines()]
    assert said[2]["params"] == {
        "threadId": session.id,
        "lastTurnId": codex.conversation(session.id).turns[1].id,
        "cwd": str(tmp_path),
        "excludeTurns": True,
    }
    assert said[3]["params"] == {"threadId": uuid(2), "name": "my title"}


def test_a_fork_with_other_turns_is_deleted_again(
    codex: Codex, session: Session, program: Program, tmp_path: Path
) -> None:
    program(forking(codex, thread(codex, "one").ends[0]))
    before = sorted((codex.root / "sessions").rglob("*"))
    with pytest.raises(Corrupt):
        fork(codex, session, tmp_path)
    assert calls(codex.root)[2:] == ["thread/fork", "thread/delete"]
    assert sorted((codex.root / "sessions").rglob("*")) == before


def test_a_turn_that_runs_by_now(
    codex: Codex, session: Session, program: Program, tmp_path: Path
) -> None:
    program(
        """
def answer(call):
    if call["method"] == "thread/fork":
        say(id=call["id"], error={"message": "lastTurnId 'x' identifies an in-progress turn"})
    say(id=call["id"], result={})
"""
        + LOOP
    )
    with pytest.raises(Busy):
        fork(codex, session, tmp_path)


def test_an_answer_of_another_shape(
    codex: Codex, session: Session, program: Program, tmp_path: Path
) -> None:
    program('def answer(call): say(id=call["id"], result={})' + LOOP)
    with pytest.raises(External, match="thread"):
        fork(codex, session, tmp_path)


@pytest.mark.parametrize("why", ["no program", "archived", "no end", "compacted", "elsewhere"])
def test_what_prong_writes_itself(
    codex: Codex, program: Program, tmp_path: Path, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(LOOP)
    sample = thread(codex, "one", "two")
    full = False
    home = codex
    if why == "no program":
        monkeypatch.setenv("PATH", str(tmp_path))
    elif why == "no end":
        sample.lines.pop()
    elif why == "compacted":
        sample.add("compacted", message="", replacement_history=[])
        full = True
    elif why == "elsewhere":
        home = Codex(tmp_path / "elsewhere")
    path = write(home, sample)
    if why == "archived":
        (codex.root / "archived_sessions").mkdir()
        path = path.rename(codex.root / "archived_sessions" / path.name)
    session = codex.store.session_at(path)
    assert session
    with closing(codex.store.source(session)) as source:
        cut = Cut(source.conversation.turns[-1].id, full)
        assert codex.store.fork_id(Method.COPY, source, cut, None) is not None
        assert codex.store.fork_id(Method.COPY, source, Cut(None), None) is not None
