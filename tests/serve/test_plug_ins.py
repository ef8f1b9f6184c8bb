"""Worker types of others: whether their `fork` is a function, a coroutine, missing, or broken."""

import os
import sys
from pathlib import Path

import pytest

from prong.errors import NotFound, ProngError, Taken, Unavailable, Unsupported, UsageError
from tests.serve.lab import Lab, listening

_MODULE = """
import asyncio


class Sync:
    state = "idle"

    def __init__(self, name, said=()):
        self.name, self.said = name, list(said)

    def send(self, text):
        self.said.append(text)
        return "; ".join(self.said)

    def fork(self, name):
        return type(self)(name, self.said)

    def stop(self):
        pass


class Async(Sync):
    async def send(self, text):
        await asyncio.sleep(0.01)
        return super().send(text)

    async def fork(self, name):
        self.loop = asyncio.get_running_loop()
        await asyncio.sleep(0.01)
        return type(self)(name, self.said)


class Slow(Sync):
    async def fork(self, name):
        await asyncio.sleep(1)
        return Slow(name)


class Plain:
    def __init__(self, name):
        pass


class Broken(Plain):
    def fork(self, name):
        return self.no_such_thing


class Greedy(Plain):
    def send(self, text):
        raise MemoryError


class Refusing(Plain):
    def fork(self, name):
        raise NotImplementedError("not on Mondays")


async def made_slowly(name, **parameters):
    await asyncio.sleep(0.01)
    return Sync(name, **parameters)
"""
_TYPES = {
    "sync": "Sync",
    "async": "Async",
    "slow": "Slow",
    "plain": "Plain",
    "broken": "Broken",
    "greedy": "Greedy",
    "refusing": "Refusing",
    "made-slowly": "made_slowly",
}


@pytest.fixture(autouse=True)
def _types(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = lab.home.root / "packages"
    package = folder / "others-1.0.dist-info"
    package.mkdir(parents=True)
    (folder / "others.py").write_text(_MODULE)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    lines = [f"{name} = others:{target}" for name, target in _TYPES.items()]
    points = "\n".join(["[prong.workers]", *lines, "lost = others:Nobody", ""])
    (package / "entry_points.txt").write_text(points)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    monkeypatch.delenv("PRONG_PLUGINS", raising=False)
    lab.serve()


@pytest.mark.parametrize("type_", ["sync", "async"])
def test_a_fork_goes_its_own_way(lab: Lab, type_: str) -> None:
    call = lab.daemon.call
    with listening(lab.daemon) as heard:
        made = call("POST", "/create", {"type": type_, "name": "one", "said": ["hello"]})
        assert made["worker"]["name"] == "one"
        forked = call("POST", "/fork", {"worker": "one", "name": "two"})
        assert forked["worker"] == {
            "name": "two",
            "type": type_,
            "state": "idle",
            "forked_from": "one",
        }
        assert heard.wait("worker_created", worker="two")["forked_from"] == "one"
        heard.wait("fork_created", parent="one", child="two")
    assert call("POST", "/send", {"worker": "one", "text": "a"})["reply"] == "hello; a"
    assert call("POST", "/send", {"worker": "two", "text": "b"})["reply"] == "hello; b"
    assert [one["name"] for one in call("GET", "/list")["workers"]] == ["one", "two"]
    assert call("POST", "/query_idle", {"worker": "two"})["idle"] is True


def test_a_fork_without_a_name_gets_one(lab: Lab) -> None:
    lab.daemon.call("POST", "/create", {"type": "sync", "name": "one"})
    forked = lab.daemon.call("POST", "/fork", {"worker": "one", "prompt": "go"})
    assert forked["worker"]["name"] == "one-2"
    made = lab.daemon.call("POST", "/create", {"type": "made-slowly"})
    assert made["worker"]["name"] not in ("one", "one-2")


def test_one_without_fork_is_unsupported(lab: Lab) -> None:
    lab.daemon.call("POST", "/create", {"type": "plain", "name": "one"})
    with pytest.raises(Unsupported, match="a worker of the type plain cannot be forked"):
        lab.daemon.call("POST", "/fork", {"worker": "one", "name": "two"})
    lab.daemon.call("POST", "/create", {"type": "refusing", "name": "three"})
    with pytest.raises(Unsupported, match="not on Mondays"):
        lab.daemon.call("POST", "/fork", {"worker": "three", "name": "two"})


def test_an_attribute_error_in_a_fork_is_what_it_is(lab: Lab) -> None:
    lab.daemon.call("POST", "/create", {"type": "broken", "name": "one"})
    with pytest.raises(ProngError, match=r"AttributeError: .*no_such_thing") as error:
        lab.daemon.call("POST", "/fork", {"worker": "one", "name": "two"})
    assert error.value.code == "internal"
    # The name is free again, and the daemon lives.
    lab.daemon.call("POST", "/create", {"type": "sync", "name": "two"})
    (daemon,) = [one for one in lab.processes if one.stderr]
    daemon.terminate()
    _, logged = daemon.communicate()
    assert "no_such_thing" in logged
    assert "Traceback" in logged


def test_too_little_memory_is_said(lab: Lab) -> None:
    lab.daemon.call("POST", "/create", {"type": "greedy", "name": "one"})
    with pytest.raises(Unavailable, match="not enough memory") as error:
        lab.daemon.call("POST", "/send", {"worker": "one", "text": "x"})
    assert error.value.code == "unavailable"
    assert [one["name"] for one in lab.daemon.call("GET", "/list")["workers"]] == ["one"]


def test_a_name_is_taken_by_whoever_has_it(lab: Lab) -> None:
    call = lab.daemon.call
    lab.worker("calm-otter")
    call("POST", "/create", {"type": "sync", "name": "one"})
    for name in ("one", "calm-otter"):
        with pytest.raises(Taken, match=f"a worker named {name} already exists"):
            call("POST", "/fork", {"worker": "one", "name": name})
        with pytest.raises(Taken):
            call("POST", "/create", {"type": "plain", "name": name})
    with pytest.raises(Taken):
        call("POST", "/create", {"project": str(lab.home.projects), "name": "one"})


def test_a_name_is_taken_while_the_fork_is_being_made(lab: Lab) -> None:
    from concurrent.futures import ThreadPoolExecutor

    lab.daemon.call("POST", "/create", {"type": "slow", "name": "one"})

    def fork(_: int) -> str:
        try:
            lab.daemon.call("POST", "/fork", {"worker": "one", "name": "two"})
        except Taken:
            return "taken"
        return "made"

    with ThreadPoolExecutor(5) as pool:
        assert sorted(pool.map(fork, range(5))) == ["made", *["taken"] * 4]


def test_what_is_wrong_with_a_type_is_said(lab: Lab) -> None:
    call = lab.daemon.call
    with pytest.raises(NotFound, match="unknown worker type 'nothing'") as error:
        call("POST", "/create", {"type": "nothing"})
    assert error.value.hint is not None
    assert "sync" in error.value.hint
    with pytest.raises(Unavailable, match="cannot be loaded"):
        call("POST", "/create", {"type": "lost"})
    with pytest.raises(UsageError, match="is not a valid worker name"):
        call("POST", "/create", {"type": "sync", "name": "Not A Name"})
    with pytest.raises(ProngError, match="TypeError") as broken:
        call("POST", "/create", {"type": "plain", "name": "one", "color": "red"})
    assert broken.value.code == "internal"


def test_other_verbs(lab: Lab) -> None:
    call = lab.daemon.call
    call("POST", "/create", {"type": "plain", "name": "one"})
    call("POST", "/create", {"type": "sync", "name": "two"})
    for path, body in (
        ("/send", {"worker": "one", "text": "x"}),
        ("/stop", {"worker": "one"}),
        ("/clone", {"worker": "one"}),
        ("/wait", {"names": ["one"]}),
    ):
        with pytest.raises(Unsupported):
            call("POST", path, body)
    assert call("POST", "/status", {"worker": "one"})["state"] == "unknown"
    with listening(lab.daemon) as heard:
        call("POST", "/stop", {"worker": "two"})
        heard.wait("worker_gone", worker="two")
    with pytest.raises(NotFound):
        call("POST", "/status", {"worker": "two"})


def test_nothing_of_it_is_in_this_process() -> None:
    assert "others" not in sys.modules
    assert Path(os.environ["HOME"], "packages").is_dir()
