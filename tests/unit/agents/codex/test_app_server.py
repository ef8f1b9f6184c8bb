"""The client of `codex app-server`, against programs that behave like it, or badly."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest
import zstandard

from prong.agents.codex import app_server
from prong.agents.codex.app_server import AppServer, Refused
from prong.errors import Busy, Corrupt, External, Taken, UsageError
from prong.files.publication import Publication
from prong.model.forks import Child, Cut, ForkPoint, Method
from prong.model.sessions import Message, Session, SessionRef
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
    with AppServer([path, "app-server"], root) as server:
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
    with AppServer([path, "app-server"], root) as server:
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
    with (
        AppServer([path, "app-server"], root) as server,
        pytest.raises(Refused, match="no such thread"),
    ):
        server.call("thread/fork")


def test_a_program_that_ends(program: Program, root: Path) -> None:
    path = program('sys.stderr.write("x" * 5000 + "bad config.toml"); sys.exit(3)')
    with pytest.raises(External) as caught, AppServer([path, "app-server"], root):
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
    with (
        AppServer([path, "app-server"], root) as server,
        pytest.raises(External, match="did not answer"),
    ):
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
    with AppServer([path, "app-server"], root) as server:
        pid = server.call("pid")["pid"]
    assert not Path(f"/proc/{pid}").exists()


def test_a_program_that_cannot_be_started(tmp_path: Path, root: Path) -> None:
    (tmp_path / "codex").write_text("no program")
    with (
        pytest.raises(External, match="cannot be started"),
        AppServer([str(tmp_path / "codex")], root),
    ):
        pass


def test_it_is_not_told_of_the_agent_that_started_prong(
    program: Program, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    path = program('def answer(call): say(id=call["id"], result=dict(os.environ))' + LOOP)
    with AppServer([path, "app-server"], root) as server:
        environment = server.call("environment")
    assert environment["CODEX_HOME"] == str(root)
    assert "CLAUDECODE" not in environment


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


REFUSING = """
def answer(call):
    if call["method"] == "thread/fork":
        say(id=call["id"], error={"message": "rollout does not start with session metadata"})
    say(id=call["id"], result={})
"""


def forking(codex: Codex, end: int, fork: str = uuid(2)) -> str:
    """A program that makes forks, all with the same end."""
    sample = codex.new()
    sample.ends = [end]
    return FORK.format(fork=fork, line=repr(sample.fork(fork, 1).lines[0])) + LOOP


@pytest.fixture
def session(codex: Codex) -> Session:
    write(codex, thread(codex, "one", "two", "three"))
    return codex.session(uuid(1))


def fork(
    codex: Codex,
    session: Session,
    tmp_path: Path,
    title: str | None = None,
    root: Path | None = None,
    check: Callable[[], None] = lambda: None,
) -> Session:
    """Fork at the second turn."""
    with (
        closing(codex.store.source(session)) as source,
        Publication(tmp_path / "j", check) as publication,
    ):
        cut = Cut(source.conversation.turns[1].id)
        assert codex.store.fork_id(Method.COPY, source, cut, None) is None
        child = Child(None, tmp_path, ForkPoint(session.ref, 2, cut.turn), title, root)
        return codex.store.copy(source, cut, child, publication)


def files(codex: Codex) -> list[Path]:
    return sorted((codex.root / "sessions").rglob("*"))


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
    before = files(codex)
    with pytest.raises(Corrupt):
        fork(codex, session, tmp_path)
    assert calls(codex.root)[2:] == ["thread/fork", "thread/delete"]
    assert files(codex) == before


def test_a_deletion_that_fails_hides_nothing(
    codex: Codex, session: Session, program: Program, tmp_path: Path
) -> None:
    body = forking(codex, thread(codex, "one").ends[0])
    program(body.replace("os.unlink(", "sys.exit("))
    with pytest.raises(Corrupt):
        fork(codex, session, tmp_path)
    assert calls(codex.root)[2:] == ["thread/fork", "thread/delete"]


def test_the_source_is_checked_again_when_the_fork_is_made(
    codex: Codex, session: Session, program: Program, tmp_path: Path
) -> None:
    program(forking(codex, thread(codex, "one", "two").ends[1]))
    before = files(codex)

    def check() -> None:
        if files(codex) != before:
            raise Busy("it grew meanwhile")

    with pytest.raises(Busy):
        fork(codex, session, tmp_path, check=check)
    assert calls(codex.root)[2:] == ["thread/fork", "thread/delete"]
    assert files(codex) == before


@pytest.mark.parametrize("wrong", ["id", "path"])
def test_the_source_itself_is_no_fork_and_never_deleted(
    codex: Codex, session: Session, program: Program, tmp_path: Path, wrong: str
) -> None:
    thread = {"id": uuid(2), "path": str(tmp_path / "new.jsonl")}
    thread |= {"id": session.id} if wrong == "id" else {"path": session.file}
    program(f'def answer(call): say(id=call["id"], result={{"thread": {thread!r}}})' + LOOP)
    with pytest.raises(External, match="itself"):
        fork(codex, session, tmp_path)
    assert calls(codex.root)[2:] == ["thread/fork"]


@pytest.mark.parametrize("body", [REFUSING + LOOP, "sys.exit(1)"])
def test_what_codex_does_not_fork_is_copied(
    codex: Codex, session: Session, program: Program, tmp_path: Path, body: str
) -> None:
    program(body)
    made = fork(codex, session, tmp_path, "my title")
    assert UUID(made.id).version == 7
    assert (made.parent, made.inherited, made.title) == (session.ref, 2, "my title")


def test_a_fork_in_another_root_is_a_copy(
    codex: Codex, session: Session, program: Program, tmp_path: Path
) -> None:
    program(REFUSING + LOOP)
    other = tmp_path / "other"
    made = fork(codex, session, tmp_path, "my title", root=other)
    assert made.path.is_relative_to(other)
    assert calls(other)[2:] == ["thread/name/set"]
    assert not (codex.root / "calls").exists()


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


# -- names ---------------------------------------------------------------------------------------


NAMING = 'def answer(call): say(id=call["id"], result={})' + LOOP


def named(root: Path) -> dict[str, str]:
    last = (root / "calls").read_text().splitlines()[-1]
    return json.loads(last)["params"]


def test_a_conversion_is_named(codex: Codex, program: Program, tmp_path: Path) -> None:
    program(NAMING)
    other = tmp_path / "other"
    other.mkdir()
    point = ForkPoint(SessionRef("claude", uuid(7)), 0)
    child = Child(uuid(9), tmp_path, point, "my title", other)
    with Publication(tmp_path / "j") as publication:
        made = codex.store.convert([], child, publication)
    assert made.path.is_relative_to(other)
    assert (made.id, made.turn_count, made.title) == (uuid(9), 0, "my title")
    assert named(other) == {"threadId": uuid(9), "name": "my title"}


def test_two_conversions_with_one_id(codex: Codex, program: Program, tmp_path: Path) -> None:
    """The second one finds the file of the first only when it publishes: the names differ."""
    program(NAMING)
    child = Child(uuid(9), tmp_path, ForkPoint(SessionRef("claude", uuid(7)), 0))

    def said() -> Iterator[Message]:
        write(codex, thread(codex, "first", number=9))
        yield from ()

    with pytest.raises(Taken), Publication(tmp_path / "j") as publication:
        codex.store.convert(said(), child, publication)
    assert [path.name for path in files(codex) if path.is_file()] == [codex.path(uuid(9)).name]


def test_a_seed_is_named(codex: Codex, program: Program, tmp_path: Path) -> None:
    program(NAMING)
    codex.root.mkdir(parents=True, exist_ok=True)
    child = Child(None, tmp_path, ForkPoint(SessionRef("claude", uuid(7)), 1), "my title")
    events = [
        {"type": "thread.started", "thread_id": uuid(9)},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "Ready."}},
        {"type": "turn.completed"},
    ]
    answer = codex.store.seeded(child, map(json.dumps, events))
    assert (answer.session_id, answer.error) == (uuid(9), None)
    assert named(codex.root) == {"threadId": uuid(9), "name": "my title"}


def test_a_seed_that_failed_is_not(codex: Codex, program: Program, tmp_path: Path) -> None:
    program(NAMING)
    child = Child(None, tmp_path, ForkPoint(SessionRef("claude", uuid(7)), 1), "my title")
    event = json.dumps({"type": "thread.started", "thread_id": uuid(9)})
    assert codex.store.seeded(child, [event]).error
    assert not (codex.root / "calls").exists()


def test_a_native_fork_is_named(
    codex: Codex, session: Session, program: Program, tmp_path: Path
) -> None:
    event = json.dumps({"type": "thread.started", "thread_id": uuid(9)})
    body = f"if sys.argv[1] == 'exec':\n    print({event!r})\n    sys.exit()\n"
    program(body + NAMING)
    child = Child(None, tmp_path, ForkPoint(session.ref, 3), "my title", codex.root)
    assert codex.store.fork_natively(session, child) == uuid(9)
    assert named(codex.root) == {"threadId": uuid(9), "name": "my title"}


# -- what Codex would change the source for ------------------------------------------------------


@pytest.mark.parametrize("how", ["packed", "archived", "inherits packed"])
def test_no_native_fork_of_what_would_be_unpacked(
    codex: Codex, program: Program, tmp_path: Path, how: str
) -> None:
    program("open(os.environ['CODEX_HOME'] + '/calls', 'w')")
    sample = thread(codex, "one", "two")
    path = write(codex, sample)
    chosen = path
    if "packed" in how:
        chosen = path.with_suffix(".jsonl.zst")
        chosen.write_bytes(zstandard.compress(path.read_bytes()))
        path.unlink()
    if how == "inherits packed":
        chosen = write(codex, sample.fork(uuid(2), 1))
    if how == "archived":
        (codex.root / "archived_sessions").mkdir()
        chosen = path.rename(codex.root / "archived_sessions" / path.name)
    session = codex.store.session_at(chosen)
    assert session
    before = files(codex)
    child = Child(None, tmp_path, ForkPoint(session.ref, 1), root=codex.root)
    for forks in (codex.store.native_fork, codex.store.fork_natively):
        with pytest.raises(UsageError, match="Codex would") as caught:
            forks(session, child)
        assert "--method" in str(caught.value.hint)
    assert files(codex) == before
    assert not (codex.root / "calls").exists()
