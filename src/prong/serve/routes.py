"""What the daemon can be asked. docs/internals/daemon.md describes each question."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from math import inf
from typing import Any, NamedTuple, TypeVar

import prong
from prong.app import App, views, worker_names, worker_views
from prong.app.worker import READY_TIMEOUT, RESPONSE_TIMEOUT, Steps, Worker, WorkerArguments
from prong.app.worker_types import PlugInWorker, PlugInWorkers
from prong.app.workers import ENDS
from prong.errors import External, Taken, Unsupported, UsageError
from prong.serve.body import Body
from prong.serve.events import Events
from prong.serve.monitor import Monitor, Statuses
from prong.worker import Placement, WorkerState
from prong.worker_ports import TakesOver

T = TypeVar("T")
Answer = tuple[int, Mapping[str, Any]]
IsGone = Callable[[], bool]
"""Whether the client has hung up: nobody waits for what nobody wants to know."""

_CREATED = 201


class Route(NamedTuple):
    method: str
    answer: Callable[[Body, IsGone], Answer]


class Routes:
    """Every question and who answers it. Each answer opens an application of its own."""

    def __init__(
        self,
        opened: Callable[[], App],
        monitor: Monitor,
        events: Events,
        plug_ins: PlugInWorkers,
    ) -> None:
        self._opened = opened
        self._monitor = monitor
        self._events = events
        self._plug_ins = plug_ins
        self._started = datetime.now(UTC)
        self.all: Mapping[str, Route] = {
            "/health": Route("GET", self._health),
            "/list": Route("GET", self._list),
            "/create": Route("POST", self._create),
            "/fork": Route("POST", self._fork),
            "/clone": Route("POST", self._clone),
            "/send": Route("POST", self._send),
            "/status": Route("POST", self._status),
            "/query_idle": Route("POST", self._query_idle),
            "/wait": Route("POST", self._wait),
            "/stop": Route("POST", self._stop),
        }

    def connected(self, statuses: Statuses, number: int) -> Mapping[str, Any]:
        """The first line of a stream of events: how things are at that moment."""
        return {
            "event": "connected",
            "number": number,
            "time": views.time(datetime.now(UTC)),
            "workers": self._views(statuses),
        }

    # -- looking -----------------------------------------------------------------------------

    def _health(self, body: Body, _: IsGone) -> Answer:
        body.done()
        return 200, {
            "pid": os.getpid(),
            "version": prong.__version__,
            "started": views.time(self._started),
            "workers": len(self._monitor.statuses) + len(self._plug_ins.all()),
        }

    def _list(self, body: Body, _: IsGone) -> Answer:
        body.done()
        with self._opened() as app:
            found = app.workers.all()
        return 200, {"workers": self._views({one.worker.name: one for one in found})}

    def _status(self, body: Body, _: IsGone) -> Answer:
        name = body.needed("worker")
        body.done()
        plug_in = self._plug_ins.get(name)
        if plug_in is not None:
            view = self._plug_in(plug_in)
            first = {"worker": name, "idle": view["state"] == "idle"}
            return 200, {**first, **{key: one for key, one in view.items() if key != "name"}}
        with self._opened() as app:
            return 200, worker_views.status(app.workers.status(name))

    def _query_idle(self, body: Body, is_gone: IsGone) -> Answer:
        _, status = self._status(body, is_gone)
        asked = ("worker", "idle", "state", "evidence", "age_s")
        return 200, {key: status.get(key) for key in asked}

    def _wait(self, body: Body, is_gone: IsGone) -> Answer:
        names, until = body.texts("names"), body.texts("until")
        any_, timeout = body.flag("any"), body.seconds("timeout", inf)
        body.done()
        if not names:
            raise UsageError("names is missing", hint='{"names": ["calm-otter"]}')
        for name in names:
            if self._plug_ins.get(name) is not None:
                raise Unsupported(f"{name} is a plug-in: its state cannot be watched")
        found = self._monitor.wait(
            names,
            _states(until) if until is not None else ENDS,
            timeout,
            any_=bool(any_),
            is_gone=is_gone,
        )
        gone = WorkerState.GONE.value
        return 200, {
            "workers": [
                worker_views.status(one)
                if one is not None
                else {"worker": name, "idle": False, "state": gone}
                for name, one in found.items()
            ]
        }

    # -- doing -------------------------------------------------------------------------------

    def _create(self, body: Body, _: IsGone) -> Answer:
        type_, name = body.text("type"), body.text("name")
        with self._opened() as app:
            if type_ is not None:
                return self._create_plug_in(app, type_, name, body)
            self._refuse_taken(name)
            ready = body.seconds("ready_timeout", READY_TIMEOUT)
            arguments = _arguments(body)
            _refuse_taking_over(app, arguments.get("terminal"))
            worker = Worker.create(name, ready_timeout=ready, app=app, **arguments)
            return self._made(app, worker.name)

    def _create_plug_in(self, app: App, type_: str, name: str | None, body: Body) -> Answer:
        factory = app.registry.worker_type(type_)
        if name is None:
            name = worker_names.made_up(self._taken(app))
        worker_names.checked(name, app.stores)
        made = self._plug_ins.create(type_, name, factory, body.rest())
        view = self._plug_in(made)
        self._events.tell("worker_created", worker=name, type=type_, forked_from=None)
        return _CREATED, {"worker": view}

    def _fork(self, body: Body, _: IsGone) -> Answer:
        """Every kind of worker forks itself; only how it is found differs."""
        source, name, prompt = body.needed("worker"), body.text("name"), body.text("prompt")
        turn = body.turn("turn")
        body.done()
        if turn is not None:
            self._refuse_plug_in(source, "be forked at a turn")
        with self._opened() as app:
            if self._plug_ins.get(source) is None:
                self._refuse_taken(name)
                forked = Worker.open(source, app=app).fork(name, prompt=prompt, turn=turn)
                return self._made(app, forked.name)
            if name is None:
                name = worker_names.after(source, self._taken(app))
            worker_names.checked(name, app.stores)
        made = self._plug_ins.fork(source, name)
        if prompt is not None:
            self._plug_ins.call(name, "send", prompt)
        self._events.tell("fork_created", fork=None, parent=source, child=name, method=made.type)
        self._events.tell("worker_created", worker=name, type=made.type, forked_from=source)
        return _CREATED, {"worker": self._plug_in(made)}

    def _clone(self, body: Body, is_gone: IsGone) -> Answer:
        source, name = body.needed("worker"), body.text("name")
        timeout = body.seconds("timeout", inf)
        body.done()
        self._refuse_plug_in(source, "be cloned")
        self._refuse_taken(name)
        with self._opened() as app:
            worker = Worker.open(source, app=app)
            if worker.state is WorkerState.BUSY:
                # Nobody wants a copy any more who hangs up while it is waited for.
                with suppress(External):  # one that ended can be copied as well
                    self._finished(worker.waiting_idle(timeout), is_gone)
            return self._made(app, worker.clone(name, timeout=timeout).name)

    def _send(self, body: Body, is_gone: IsGone) -> Answer:
        name, text = body.needed("worker"), body.needed("text")
        wait, timeout = body.flag("wait"), body.seconds("timeout", RESPONSE_TIMEOUT)
        as_command = bool(body.flag("as_command"))
        body.done()
        if self._plug_ins.get(name) is not None:
            reply = self._plug_ins.call(name, "send", text)
            return 200, {"worker": name, "reply": str(reply) if reply is not None else None}
        with self._opened() as app:
            worker = Worker.open(name, app=app)
            if not wait:
                app.workers.send(name, text, as_command=as_command)
                return 200, {"worker": name, "reply": None}
            reply = self._finished(worker.sending(text, timeout, as_command=as_command), is_gone)
            return 200, {"worker": name, "reply": reply}

    def _stop(self, body: Body, _: IsGone) -> Answer:
        name, force = body.needed("worker"), bool(body.flag("force"))
        body.done()
        if self._plug_ins.get(name) is not None:
            self._plug_ins.call(name, "stop")
            self._plug_ins.forget(name)
            self._events.tell("worker_gone", worker=name, exit_code=None, stopped=True)
            return 200, {"worker": name, "state": WorkerState.GONE.value}
        with self._opened() as app:
            Worker.open(name, app=app).stop(force=force)
        self._monitor.wake()
        return 200, {"worker": name, "state": WorkerState.GONE.value}

    # -- helpers -----------------------------------------------------------------------------

    def _finished(self, steps: Steps[T], is_gone: IsGone) -> T:
        """What comes out of something that takes long, as long as somebody wants to know it."""
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value
            self._monitor.check(is_gone)

    def _made(self, app: App, name: str) -> Answer:
        self._monitor.wake()
        return _CREATED, {"worker": worker_views.worker(app.workers.status(name))}

    def _views(self, statuses: Statuses) -> list[Mapping[str, Any]]:
        own = [worker_views.worker(one) for one in statuses.values()]
        return [*own, *(self._plug_in(one) for one in self._plug_ins.all())]

    def _plug_in(self, worker: PlugInWorker) -> dict[str, Any]:
        return {
            "name": worker.name,
            "type": worker.type,
            "state": self._plug_ins.state(worker),
            "forked_from": worker.forked_from,
        }

    def _taken(self, app: App) -> set[str]:
        return {*(one.name for one in app.workers.records.all()), *self._plug_ins.names()}

    def _refuse_taken(self, name: str | None) -> None:
        if name is not None and name in self._plug_ins.names():
            raise Taken(f"a worker named {name} already exists", hint="another name")

    def _refuse_plug_in(self, name: str, doing: str) -> None:
        if self._plug_ins.get(name) is not None:
            raise Unsupported(f"{name} is a plug-in and cannot {doing}")


def _refuse_taking_over(app: App, terminal: str | None) -> None:
    if terminal is not None and isinstance(app.terminals.named(terminal), TakesOver):
        raise UsageError(
            f"a worker in {terminal} would replace the daemon", hint="another terminal"
        )


def _states(words: tuple[str, ...]) -> set[WorkerState]:
    try:
        return {WorkerState(one) for one in words}
    except ValueError as error:
        raise UsageError(str(error), hint=", ".join(WorkerState)) from None


def _arguments(body: Body) -> WorkerArguments:
    project = body.folder("project")
    place = body.text("place")
    if project is None:
        raise UsageError("project is missing", hint='{"project": "/a/folder"}')
    if place is not None and place not in list(Placement):
        raise UsageError(f"{place!r} is not a place", hint=", ".join(Placement))
    given: WorkerArguments = {
        "project": project,
        "prompt": body.text("prompt"),
        "id": body.text("id"),
        "worktree": body.flag("worktree"),
        "branch": body.text("branch"),
        "base": body.text("base"),
        "model": body.text("model"),
        "skip_permissions": bool(body.flag("skip_permissions")),
        "settings": body.folder("settings"),
        "plugin_dirs": body.texts("plugin_dirs") or (),
        "extra": body.texts("extra") or (),
        "env": body.table("env") or {},
        "command": body.command("command"),
        "commit_turns": bool(body.flag("commit_turns")),
        "push": body.text("push"),
        "headless": bool(body.flag("headless")),
        "trust": bool(body.flag("trust")),
        "terminal": body.text("terminal"),
        "place": place,
        "resume": body.text("resume"),
        "fork": body.text("fork"),
        "continue_": bool(body.flag("continue")),
    }
    agent = body.text("agent")
    if agent is not None:
        given["agent"] = agent
    body.done()
    return given
