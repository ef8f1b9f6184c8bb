"""The socket: who may have it, who may speak to it, and what becomes of it."""

import json
import os
import signal
import socket
import stat
import tempfile
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import prong
from prong.api.requests import WorkerArguments, WorkerForkArguments
from prong.app import App
from prong.errors import NotFound, ProngError, Unavailable, UsageError
from prong.serve.routes import FORK_FIELDS, WORKER_FIELDS
from prong.workers.daemon_socket import address
from tests.serve.lab import Lab, listening, until
from tests.terminals.tmux_lab import TmuxLab
from tests.unit.workers import headless_claude


@contextmanager
def raw(lab: Lab) -> Generator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(10)
        with address(lab.daemon.path) as where:
            connection.connect(where)
        yield connection


def said(lab: Lab, *, request: bytes) -> bytes:
    """All that the daemon answers to some bytes."""
    with raw(lab) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while block := connection.recv(1 << 16):
            answer += block
        return answer


def test_it_is_for_its_owner_only_and_goes_when_it_ends(lab: Lab) -> None:
    assert not lab.daemon.running()
    process = lab.serve()
    assert lab.daemon.running()
    assert stat.S_IMODE(lab.daemon.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(lab.daemon.path.parent.stat().st_mode) == 0o700
    assert lab.daemon.call("GET", "/health")["pid"] == process.pid
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    assert not lab.daemon.path.exists()
    assert not lab.daemon.running()
    with pytest.raises(Unavailable, match="the daemon is not running"):
        lab.daemon.call("GET", "/health")


def test_a_folder_that_others_could_read_is_closed(lab: Lab) -> None:
    lab.state.mkdir(parents=True, mode=0o755)
    lab.state.chmod(0o755)
    lab.serve()
    assert stat.S_IMODE(lab.state.stat().st_mode) == 0o700


@pytest.mark.parametrize("is_default", [True, False])
def test_it_does_not_become_an_agent_itself(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, is_default: bool
) -> None:
    headless_claude.install(lab.home, monkeypatch)
    with tempfile.TemporaryDirectory() as short, TmuxLab(Path(short)) as tmux:
        monkeypatch.setenv("PRONG_TMUX_SOCKET", tmux.socket)
        if is_default:
            config = lab.home.root / ".config/prong/config.toml"
            config.parent.mkdir(parents=True)
            config.write_text('[terminal]\ndefault = "exec"\n')
        process = lab.serve()
        project = str(lab.home.project())
        body = {"project": project, "worktree": False, "ready_timeout": 0}
        if is_default:
            made = lab.daemon.call("POST", "/create", body)["worker"]
            assert made["pane"]["terminal"] == "tmux"
        else:
            with pytest.raises(UsageError, match="would replace the daemon"):
                lab.daemon.call("POST", "/create", {**body, "terminal": "exec"})
        assert lab.daemon.call("GET", "/health")["pid"] == process.pid


def test_workers_live_on_when_it_ends(lab: Lab) -> None:
    worker = lab.worker("calm-otter")
    process = lab.serve()
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 0
    lab.tell(worker, "Stop", "idle")
    with App() as app:
        until(lambda: app.workers.states.status("calm-otter").state == "idle")


def test_two_cannot_run(lab: Lab) -> None:
    first = lab.serve()
    second = lab.serve(wait=False)
    assert second.wait(20) == 1
    assert second.stderr is not None
    assert f"running already (process {first.pid})" in second.stderr.read()
    assert lab.daemon.call("GET", "/health")["pid"] == first.pid


def test_ten_at_once_are_one(lab: Lab) -> None:
    several = [lab.serve(wait=False) for _ in range(10)]
    until(lambda: sum(one.poll() is not None for one in several) == 9, 60)
    (alive,) = [one for one in several if one.poll() is None]
    until(lab.daemon.running)
    assert lab.daemon.call("GET", "/health")["pid"] == alive.pid


def test_a_socket_that_a_killed_one_left_is_replaced(lab: Lab) -> None:
    first = lab.serve()
    first.kill()
    first.wait()
    assert lab.daemon.path.exists()
    assert not lab.daemon.running()
    second = lab.serve()
    assert lab.daemon.call("GET", "/health")["pid"] == second.pid


def test_a_file_of_that_name_is_no_daemon(lab: Lab) -> None:
    lab.state.mkdir(parents=True)
    lab.daemon.path.write_text("")
    assert not lab.daemon.running()
    lab.serve()
    assert lab.daemon.running()


def test_a_path_that_is_too_long_for_a_socket(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    long = tmp_path.joinpath(*["a-rather-long-name"] * 8)
    monkeypatch.setenv("XDG_STATE_HOME", str(long))
    monkeypatch.setenv("TMPDIR", "/tmp")  # noqa: S108
    assert len(str(lab.daemon.path)) > 108
    process = lab.serve()
    assert lab.daemon.path.is_socket()
    assert lab.daemon.call("GET", "/health")["pid"] == process.pid
    process.terminate()
    assert process.wait(10) == 0
    assert not lab.daemon.path.exists()


@pytest.mark.parametrize(
    "request_",
    [
        b"\x00\xff\xfe nonsense\r\n\r\n",
        b"HELLO\r\n\r\n",
        b"GET /health HTTP/9.9.9\r\n\r\n",
        b"POST /create HTTP/1.1\r\nHost: prong\r\nContent-Length: 5\r\n\r\n{not}",
        b"POST /create HTTP/1.1\r\nHost: prong\r\nContent-Length: 4\r\n\r\n[42]",
        b"POST /create HTTP/1.1\r\nHost: prong\r\nContent-Length: 2\r\n\r\n\xff\xfe",
        b"POST /create HTTP/1.1\r\nHost: prong\r\nContent-Length: -5\r\n\r\n{}",
        b"POST /create HTTP/1.1\r\nHost: prong\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /wait HTTP/1.1\r\nHost: prong\r\nContent-Length: 9000\r\n\r\n" + b"[" * 9000,
        b"POST /create HTTP/1.1\r\nHost: prong\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /create HTTP/1.1\r\nHost: prong\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n{",
        b"GET /health HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: prong\r\n" + b"X: y\r\n" * 5000,
        b"GET /" + b"x" * 70000,
    ],
)
def test_nonsense_is_a_clean_400(lab: Lab, request_: bytes) -> None:
    lab.serve()
    head, _, body = said(lab, request=request_).partition(b"\r\n\r\n")
    assert head.split(b" ")[1] == b"400", head
    problem = json.loads(body)
    assert list(problem) == ["code", "message", "hint", "details"]
    assert lab.daemon.call("GET", "/health")


@pytest.mark.parametrize(
    "request_",
    [
        b"Content-Length: 999999999\r\n\r\n{",
        b"Content-Length: 99999999999999999999\r\n\r\n{",
        b"Transfer-Encoding: chunked\r\n\r\n900000\r\n" + b" " * (9 << 20),
    ],
    ids=["too-large", "absurd", "chunks"],
)
def test_what_is_too_large_is_refused_before_it_is_read(lab: Lab, request_: bytes) -> None:
    lab.serve()
    answer = said(lab, request=b"POST /send HTTP/1.1\r\nHost: prong\r\n" + request_)
    assert b" 413 " in answer.splitlines()[0]
    assert b'"code": "too_large"' in answer


def test_errors_come_back_as_what_they_are(lab: Lab) -> None:
    lab.serve()
    call = lab.daemon.call
    with pytest.raises(NotFound, match="no worker named nobody") as error:
        call("POST", "/status", {"worker": "nobody"})
    assert error.value.hint == "prong ps"
    with pytest.raises(NotFound, match="no such path: /nothing"):
        call("GET", "/nothing")
    with pytest.raises(ProngError, match="is asked with POST"):
        call("GET", "/create")
    for path, body, wrong in (
        ("/create", {}, "project is missing"),
        ("/create", {"project": "here"}, "must begin with /"),
        ("/create", {"project": "/", "headless": "yes"}, "must be true or false"),
        ("/create", {"project": "/", "hedless": True}, "unknown field 'hedless'"),
        ("/create", {"project": "/", "env": {"A": 1}}, "an object of texts"),
        ("/create", {"project": "/", "place": "moon"}, "is not a place"),
        ("/fork", {"worker": "calm-otter", "cod": "now"}, "unknown field 'cod'"),
        ("/fork", {"worker": "calm-otter", "code": "then"}, "'then' is not a code"),
        ("/fork", {"worker": "calm-otter", "into": "here"}, "into must begin with /"),
        ("/fork", {"worker": "calm-otter", "trim": "yes"}, "trim must be true or false"),
        ("/send", {"worker": "calm-otter"}, "text is missing"),
        ("/send", {"worker": 1, "text": "x"}, "worker must be a text"),
        ("/wait", {}, "names is missing"),
        ("/wait", {"names": "calm-otter"}, "a list of texts"),
        ("/wait", {"names": ["x"], "until": ["tired"]}, "tired"),
        ("/wait", {"names": ["x"], "timeout": -1}, "a number of seconds"),
    ):
        with pytest.raises(UsageError, match=wrong):
            call("POST", path, body)
    with pytest.raises(NotFound):
        call("POST", "/wait", {"names": ["x"], "timeout": 10**400})


def test_create_and_fork_take_what_the_python_api_takes() -> None:
    assert {name.replace("continue", "continue_") for name in WORKER_FIELDS} == set(
        WorkerArguments.__annotations__
    )
    assert set(FORK_FIELDS) == set(WorkerForkArguments.__annotations__)


def test_a_fork_at_a_turn_with_its_own_options(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    headless_claude.install(lab.home, monkeypatch)
    lab.serve()
    call = lab.daemon.call
    project = str(lab.home.project())
    body = {"project": project, "name": "calm-otter", "headless": True, "prompt": "hello"}
    call("POST", "/create", {**body, "worktree": False})
    lab.daemon.wait(["calm-otter"], ["idle"], 20)
    options = {"turn": 1, "code": "head", "branch": "mine", "title": "Other", "model": "opus"}
    forked = call("POST", "/fork", {"worker": "calm-otter", "prompt": "go on", **options})["worker"]
    lab.daemon.wait([forked["name"]], ["idle"], 20)
    assert forked["branch"] == "mine"
    assert forked["workspace"] != project
    worker = prong.Worker.open(forked["name"])
    assert tuple(worker.info().command)[1:3] == ("--model", "opus")
    assert (worker.info().turn, worker.info().last_input) == (2, "go on")


def test_what_is_idle(lab: Lab) -> None:
    worker = lab.worker("calm-otter")
    lab.serve()
    lab.tell(worker, "Stop", "idle")

    def idle() -> bool:
        answer = lab.daemon.call("POST", "/query_idle", {"worker": "calm-otter"})
        assert list(answer) == ["worker", "idle", "state", "evidence", "age_s"]
        return answer["idle"]

    until(idle)
    (listed,) = lab.daemon.call("GET", "/list")["workers"]
    status = lab.daemon.call("POST", "/status", {"worker": "calm-otter"})
    assert listed["state"] == status["state"] == "idle"
    assert listed["session"] == status["session"] == f"claude:{worker.session}"


def test_stopping_tells_and_a_busy_one_wants_force(lab: Lab) -> None:
    worker = lab.worker("calm-otter")
    lab.serve()
    lab.tell(worker, "UserPromptSubmit", "busy")
    with listening(lab.daemon) as heard:
        with pytest.raises(ProngError) as error:
            lab.daemon.call("POST", "/stop", {"worker": "calm-otter"})
        assert error.value.code == "busy"
        lab.daemon.call("POST", "/stop", {"worker": "calm-otter", "force": True})
        assert heard.wait("worker_gone", worker="calm-otter")["stopped"] is True


def test_who_hangs_up_while_a_clone_waits_gets_none(lab: Lab) -> None:
    worker = lab.worker("calm-otter", headless=True)
    lab.serve()
    with pytest.raises(Unavailable):
        lab.daemon.call("POST", "/clone", {"worker": "calm-otter", "name": "one"}, timeout=0.5)
    time.sleep(2)  # so long it may take until that is seen
    lab.kill(worker)
    lab.daemon.call("POST", "/clone", {"worker": "calm-otter", "name": "other"})
    time.sleep(1)
    names = {one["name"] for one in lab.daemon.call("GET", "/list")["workers"]}
    assert names == {"calm-otter", "other"}


def test_clients_that_say_or_read_nothing_are_in_nobodys_way(lab: Lab) -> None:
    worker = lab.worker("calm-otter")
    lab.serve()
    with raw(lab) as silent, raw(lab) as half, raw(lab) as deaf, raw(lab) as gone:
        silent.sendall(b"GET /hea")
        half.sendall(b"POST /send HTTP/1.1\r\nHost: prong\r\nContent-Length: 100\r\n\r\n{")
        deaf.sendall(b"GET /events HTTP/1.1\r\nHost: prong\r\n\r\n")
        gone.sendall(b"GET /events HTTP/1.1\r\nHost: prong\r\n\r\n")
        gone.close()
        with listening(lab.daemon) as heard:
            for number in range(30):
                lab.tell(worker, "UserPromptSubmit", "busy" if number % 2 else "waiting")
                assert lab.daemon.call("GET", "/health")
            heard.wait("worker_state", worker="calm-otter")


def test_twenty_clients_at_once(lab: Lab) -> None:
    workers = [lab.worker(f"worker-{number}") for number in range(3)]
    lab.serve()
    for worker in workers:
        lab.tell(worker, "UserPromptSubmit", "busy")
    names = [worker.name for worker in workers]

    def client(number: int) -> object:
        if number % 2:
            return lab.daemon.wait(names, ["idle"], 30)
        return len(lab.daemon.call("GET", "/list")["workers"])

    with ThreadPoolExecutor(20) as pool:
        answers = [pool.submit(client, number) for number in range(20)]
        assert {one.result() for one in answers[::2]} == {3}
        for worker in workers:
            lab.tell(worker, "Stop", "idle")
        for one in answers[1::2]:
            assert one.result() == dict.fromkeys(names, "idle")


def test_whoever_waits_is_told_when_it_ends(lab: Lab) -> None:
    lab.worker("calm-otter")
    process = lab.serve()
    with ThreadPoolExecutor(1) as pool, listening(lab.daemon) as heard:
        waiting = pool.submit(lab.daemon.wait, ["calm-otter"], ["idle"], 60)
        time.sleep(0.3)
        began = time.monotonic()
        process.terminate()
        with pytest.raises(Unavailable):
            waiting.result(10)
        assert process.wait(10) == 0
        assert time.monotonic() - began < 5
        assert heard.names[0] == "connected"


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 95\r\n\r\n{"])
def test_one_that_ends_in_the_middle_of_its_answer(lab: Lab, answer: bytes) -> None:
    lab.daemon.path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server, ThreadPoolExecutor(1) as pool:
        with address(lab.daemon.path) as where:
            server.bind(where)
        lab.daemon.path.chmod(0o600)
        server.listen()
        called = pool.submit(lab.daemon.call, "GET", "/list")
        connection, _ = server.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(answer)
        with pytest.raises(Unavailable, match="ended before it answered"):
            called.result(10)


def test_a_client_that_hangs_up_while_it_waits_leaves_no_thread(lab: Lab) -> None:
    lab.worker("calm-otter")
    process = lab.serve()
    threads = Path(f"/proc/{process.pid}/task")
    if not threads.exists():
        pytest.skip("the system does not tell of threads")

    def count() -> int:
        return len(os.listdir(threads))  # noqa: PTH208

    before = count()
    body = b'{"names": ["calm-otter"], "until": ["idle"]}'
    head = b"POST /wait HTTP/1.1\r\nHost: prong\r\nContent-Length: %d\r\n\r\n" % len(body)
    with ExitStack() as stack:
        for _ in range(10):
            stack.enter_context(raw(lab)).sendall(head + body)
        until(lambda: count() >= before + 10)
    # What watches files has a thread or two, which may come late.
    until(lambda: count() <= before + 3)
