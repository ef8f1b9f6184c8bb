"""HTTP routes of the daemon (docs/internals/daemon.md)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

import prong
from prong.api.worker import READY_TIMEOUT, RESPONSE_TIMEOUT, Worker
from prong.app import App
from prong.errors import Taken, Unsupported, UsageError
from prong.model.forks import Code, Method
from prong.model.workers import Placement, WorkerState
from prong.serve.events import Events
from prong.serve.monitor import Monitor, Statuses
from prong.serve.requests import (
    COMMAND,
    FLAG,
    FOLDER,
    TABLE,
    TEXT,
    TEXTS,
    TURN,
    JsonRequest,
    Kind,
)
from prong.serve.responses import Json, in_thread, json_line
from prong.serve.worker_types import PlugInWorker, PlugInWorkers
from prong.terminals.base import TakesOver
from prong.threads import run_in_thread
from prong.views import json
from prong.views import workers as worker_views
from prong.workers import names as worker_names
from prong.workers.states import ENDS

if TYPE_CHECKING:
    from prong.workers.service import WorkerService

_HEARTBEAT = 5.0
"""Seconds without an event after which an empty line shows that the daemon is alive."""
_JSON_LINES = "application/x-ndjson"

_RUN_FIELDS: Mapping[str, Kind] = {
    **dict.fromkeys(("agent", "prompt", "id", "branch", "model"), TEXT),
    "skip_permissions": FLAG,
    "settings": FOLDER,
}
WORKER_FIELDS: Mapping[str, Kind] = {
    **_RUN_FIELDS,
    **dict.fromkeys(("base", "push", "terminal", "resume", "fork"), TEXT),
    **dict.fromkeys(("worktree", "commit_turns", "headless", "trust", "continue"), FLAG),
    **dict.fromkeys(("plugin_dirs", "extra"), TEXTS),
    "project": FOLDER,
    "env": TABLE,
    "command": COMMAND,
    "place": Kind(Placement, "be a text"),
}
"""What `Worker.create` takes."""
FORK_FIELDS: Mapping[str, Kind] = {
    **_RUN_FIELDS,
    **dict.fromkeys(("retry", "before_compaction", "trim", "no_worktree"), FLAG),
    "title": TEXT,
    "into": FOLDER,
    "method": Kind(Method, "be a text"),
    "code": Kind(Code, "be a text"),
    "code_at": TURN,
}
"""What `Worker.fork` takes."""


class Routes:
    """The routes and their endpoints. Each request opens its own `App`."""

    def __init__(
        self,
        open_app: Callable[[], App],
        monitor: Monitor,
        events: Events,
        plug_ins: PlugInWorkers,
    ) -> None:
        self._open_app = open_app
        self._monitor = monitor
        self._events = events
        self._plug_ins = plug_ins
        self._started = datetime.now(UTC)
        self.all = [
            Route("/events", self.events),
            Route("/health", in_thread(self.health)),
            Route("/list", in_thread(self.list_workers)),
            Route("/create", in_thread(self.create, 201), methods=["POST"]),
            Route("/fork", in_thread(self.fork, 201), methods=["POST"]),
            Route("/clone", in_thread(self.clone, 201), methods=["POST"]),
            Route("/send", in_thread(self.send), methods=["POST"]),
            Route("/status", in_thread(self.status), methods=["POST"]),
            Route("/query_idle", in_thread(self.query_idle), methods=["POST"]),
            Route("/wait", in_thread(self.wait), methods=["POST"]),
            Route("/stop", in_thread(self.stop), methods=["POST"]),
        ]

    # -- queries -------------------------------------------------------------------------------

    async def events(self, request: Request) -> Response:
        """Stream events as JSON lines until the client or the daemon ends."""
        (await JsonRequest.read(request)).done()
        if request.method == "HEAD":
            return Response(media_type=_JSON_LINES)
        return StreamingResponse(self._event_lines(), media_type=_JSON_LINES)

    async def _event_lines(self) -> AsyncIterator[bytes]:
        with self._monitor.listening() as (listener, statuses):
            workers = await run_in_thread(partial(self._views, statuses), daemon=True)
            now = json.time(datetime.now(UTC))
            first = {"event": "connected", "number": listener.after, "time": now}
            yield json_line({**first, "workers": workers})
            with suppress(EOFError):
                while True:
                    event = await listener.next(_HEARTBEAT)
                    yield json_line(event) if event is not None else b"\n"

    def health(self, request: JsonRequest) -> Json:
        request.done()
        return {
            "pid": os.getpid(),
            "version": prong.__version__,
            "started": json.time(self._started),
            "workers": len(self._monitor.statuses) + len(self._plug_ins.all()),
        }

    def list_workers(self, request: JsonRequest) -> Json:
        request.done()
        with self._open_app() as app:
            statuses = app.workers.states.all()
        return {"workers": self._views({status.worker.name: status for status in statuses})}

    def status(self, request: JsonRequest) -> Json:
        name = request.needed("worker")
        request.done()
        plug_in = self._plug_ins.get(name)
        if plug_in is not None:
            view = self._plug_in(plug_in)
            first = {"worker": name, "idle": view["state"] == "idle"}
            return {**first, **{key: value for key, value in view.items() if key != "name"}}
        with self._open_app() as app:
            return worker_views.status(app.workers.states.status(name))

    def query_idle(self, request: JsonRequest) -> Json:
        status = self.status(request)
        fields = ("worker", "idle", "state", "evidence", "age_s")
        return {field: status.get(field) for field in fields}

    def wait(self, request: JsonRequest) -> Json:
        names, until = request.take("names", TEXTS), request.take("until", TEXTS)
        any_, timeout = request.flag("any"), request.seconds("timeout", inf)
        request.done()
        if not names:
            raise UsageError("names is missing", hint='{"names": ["calm-otter"]}')
        for name in names:
            if self._plug_ins.get(name) is not None:
                raise Unsupported(f"{name} is a plug-in: its state cannot be watched")
        statuses = self._monitor.wait(
            names,
            _states(until) if until is not None else ENDS,
            timeout,
            any_=any_,
            is_gone=request.is_gone,
        )
        return {
            "workers": [
                worker_views.status(status)
                if status is not None
                else {"worker": name, "idle": False, "state": WorkerState.GONE.value}
                for name, status in statuses.items()
            ]
        }

    # -- actions -------------------------------------------------------------------------------

    def create(self, request: JsonRequest) -> Json:
        type_, name = request.text("type"), request.text("name")
        if type_ is not None:
            return self._create_plug_in(type_, name, request)
        self._refuse_taken(name)
        ready = request.seconds("ready_timeout", READY_TIMEOUT)
        fields = request.take_rest(WORKER_FIELDS)
        if "project" not in fields:
            raise UsageError("project is missing", hint='{"project": "/a/folder"}')
        fields["continue_"] = fields.pop("continue", False)
        with self._open_app() as app:
            terminal = fields.get("terminal")
            if terminal is not None and isinstance(app.terminals.named(terminal), TakesOver):
                message = f"a worker in {terminal} would replace the daemon"
                raise UsageError(message, hint="another terminal")
            worker = Worker.create(name, ready_timeout=ready, workers=app.workers, **fields)
            return self._made(app.workers, worker)

    def _create_plug_in(self, type_: str, name: str | None, request: JsonRequest) -> Json:
        with self._open_app() as app:
            factory = app.registry.worker_type(type_)
            if name is None:
                name = worker_names.made_up(self._taken(app.workers))
            worker_names.checked(name, app.stores)
        view = self._plug_in(self._plug_ins.create(type_, name, factory, request.rest()))
        self._events.tell("worker_created", worker=name, type=type_, forked_from=None)
        return {"worker": view}

    def fork(self, request: JsonRequest) -> Json:
        """Fork a worker. prong's own workers and plug-in workers are only looked up differently."""
        source, name = request.needed("worker"), request.text("name")
        turn = request.take("turn", TURN)
        if self._plug_ins.get(source) is None:
            fields = request.take_rest(FORK_FIELDS)
            self._refuse_taken(name)
            with self._open_app() as app:
                forked = Worker.open(source, workers=app.workers).fork(name, turn=turn, **fields)
                return self._made(app.workers, forked)
        prompt = request.text("prompt")
        request.done()
        if turn is not None:
            self._refuse_plug_in(source, "be forked at a turn")
        with self._open_app() as app:
            if name is None:
                name = worker_names.after(source, self._taken(app.workers))
            worker_names.checked(name, app.stores)
        created = self._plug_ins.fork(source, name)
        if prompt is not None:
            self._plug_ins.call(name, "send", prompt)
        self._events.tell("fork_created", fork=None, parent=source, child=name, method=created.type)
        self._events.tell("worker_created", worker=name, type=created.type, forked_from=source)
        return {"worker": self._plug_in(created)}

    def clone(self, request: JsonRequest) -> Json:
        source, name = request.needed("worker"), request.text("name")
        timeout = request.seconds("timeout", inf)
        request.done()
        self._refuse_plug_in(source, "be cloned")
        self._refuse_taken(name)
        with self._open_app() as app:
            # A client that disconnects while the clone waits gets none.
            worker = Worker.open(source, workers=app.workers, check=self._still_asked(request))
            return self._made(app.workers, worker.clone(name, timeout=timeout))

    def send(self, request: JsonRequest) -> Json:
        name, text = request.needed("worker"), request.needed("text")
        wait, timeout = request.flag("wait"), request.seconds("timeout", RESPONSE_TIMEOUT)
        as_command = request.flag("as_command")
        request.done()
        if self._plug_ins.get(name) is not None:
            reply = self._plug_ins.call(name, "send", text)
            return {"worker": name, "reply": str(reply) if reply is not None else None}
        with self._open_app() as app:
            worker = Worker.open(name, workers=app.workers, check=self._still_asked(request))
            if not wait:
                app.workers.prompts.send(name, text, as_command=as_command)
                return {"worker": name, "reply": None}
            reply = worker.send(text, timeout=timeout, as_command=as_command)
            return {"worker": name, "reply": reply}

    def stop(self, request: JsonRequest) -> Json:
        name, force = request.needed("worker"), request.flag("force")
        request.done()
        if self._plug_ins.get(name) is not None:
            self._plug_ins.call(name, "stop")
            self._plug_ins.forget(name)
            self._events.tell("worker_gone", worker=name, exit_code=None, stopped=True)
        else:
            with self._open_app() as app:
                Worker.open(name, workers=app.workers).stop(force=force)
            self._monitor.wake()
        return {"worker": name, "state": WorkerState.GONE.value}

    # -- helpers -------------------------------------------------------------------------------

    def _still_asked(self, request: JsonRequest) -> Callable[[], None]:
        """Return a check that fails once the client has disconnected, or the daemon stops."""
        return partial(self._monitor.check, request.is_gone)

    def _made(self, workers: WorkerService, worker: Worker) -> Json:
        self._monitor.wake()
        return {"worker": worker_views.worker(workers.states.status(worker.name))}

    def _views(self, statuses: Statuses) -> list[Json]:
        views = [worker_views.worker(status) for status in statuses.values()]
        return [*views, *(self._plug_in(worker) for worker in self._plug_ins.all())]

    def _plug_in(self, worker: PlugInWorker) -> dict[str, Any]:
        return {
            "name": worker.name,
            "type": worker.type,
            "state": self._plug_ins.state(worker),
            "forked_from": worker.forked_from,
        }

    def _taken(self, workers: WorkerService) -> set[str]:
        return self._plug_ins.names().union(worker.name for worker in workers.records.all())

    def _refuse_taken(self, name: str | None) -> None:
        if name is not None and name in self._plug_ins.names():
            raise Taken(f"a worker named {name} already exists", hint="another name")

    def _refuse_plug_in(self, name: str, doing: str) -> None:
        if self._plug_ins.get(name) is not None:
            raise Unsupported(f"{name} is a plug-in and cannot {doing}")


def _states(words: tuple[str, ...]) -> set[WorkerState]:
    try:
        return {WorkerState(word) for word in words}
    except ValueError as error:
        raise UsageError(str(error), hint=", ".join(WorkerState)) from None
