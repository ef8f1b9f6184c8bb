"""`prong serve`: the socket, and everything behind it, from the start to the end."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Any

from prong.app import App
from prong.app.daemon import SOCKET, Daemon
from prong.app.daemon_socket import address
from prong.app.worker_types import PlugInWorkers
from prong.config import Config
from prong.errors import External, Taken
from prong.lock import locked
from prong.paths import private_dir
from prong.record import replace
from prong.serve.events import Events
from prong.serve.handler import Handler
from prong.serve.monitor import Monitor
from prong.serve.routes import Routes
from prong.worker_ports import TakesOver

_LOCK = "daemon.lock"
_MOST = 256
"""Clients at the same time; one more finds the door closed."""
_QUEUE = 128
"""So many may knock before they are let in."""
_PATIENCE = 10.0
"""So many seconds what is being made has left when the daemon is told to end."""


class Server(ThreadingMixIn, UnixStreamServer):
    """Answers on the socket; a thread for each client."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = _QUEUE

    def __init__(self, opened: Callable[[], App], folder: Path) -> None:
        """`opened` makes an application for one thread. The folder is for the socket."""
        self._path = folder / SOCKET
        events = Events()
        self.monitor = Monitor(opened, events)
        self.plug_ins = PlugInWorkers(lambda: _names(opened))
        self.routes = Routes(opened, self.monitor, events, self.plug_ins)
        self._events = events
        self._clients = threading.Semaphore(_MOST)
        self._at_work = 0
        self._idle = threading.Condition()
        super().__init__(str(self._path), Handler)

    def server_bind(self) -> None:
        # Whoever made what lies there is not alive: we have the lock.
        self._path.unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            with address(self._path) as where:
                self.socket.bind(where)
        except OSError as error:
            raise External(f"{self._path} cannot be made: {error.strerror}") from error
        finally:
            os.umask(before)
        self._inode = self._path.stat().st_ino

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._clients.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no thread can be started
            self._clients.release()
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._clients.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up in the middle is nothing to talk about."""

    @contextmanager
    def working(self) -> Generator[None]:
        """A request is being answered: the daemon does not end in the middle of it."""
        with self._idle:
            self._at_work += 1
        try:
            yield
        finally:
            with self._idle:
                self._at_work -= 1
                self._idle.notify_all()

    def start(self) -> None:
        """Answer from now on."""
        self.monitor.start()
        threading.Thread(target=self.serve_forever, args=(0.1,), name="accept", daemon=True).start()

    def end(self) -> None:
        """Answer nobody else, and let what is being made be finished. Workers live on."""
        with suppress(OSError):
            if self._path.stat().st_ino == self._inode:
                self._path.unlink()
        self.shutdown()
        self.server_close()
        self.monitor.stop()
        with self._idle:
            self._idle.wait_for(lambda: self._at_work == 0, _PATIENCE)
        self._events.close()
        self.plug_ins.close()


def run(app: App, ready: Callable[[Path], None]) -> None:
    """Serve until a signal says that it is enough. `ready` is told the path of the socket.

    Raises `Taken` when there is a daemon already.
    """
    settings = _own(app)

    def opened() -> App:
        return App(settings, state=app.state_dir)

    # A signal may come at any moment, also while this thread holds the lock of an Event.
    over, said = os.pipe()

    def enough(_: int, __: object) -> None:
        os.write(said, b".")

    with ExitStack() as stack:
        stack.callback(os.close, over)
        stack.callback(os.close, said)
        stack.enter_context(alone(app.state_dir))
        for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            stack.callback(signal.signal, one, signal.signal(one, enough))
        server = Server(opened, app.state_dir)
        stack.callback(server.end)
        server.start()
        ready(app.state_dir / SOCKET)
        os.read(over, 1)


def _own(app: App) -> Config:
    """The settings, without a terminal in which the daemon itself would become the agent."""
    terminal = app.settings.terminal
    if terminal.default and isinstance(app.terminals.named(terminal.default), TakesOver):
        return replace(app.settings, terminal=replace(terminal, default=None))
    return app.settings


@contextmanager
def alone(folder: Path) -> Generator[None]:
    """The lock of the daemon: nobody else has it, and a killed one has it no longer."""
    private_dir(folder)
    private_dir(folder / "spool")
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)
    descriptor = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        # Where the file system has no locks, who answers is there.
        if not locked(descriptor, 0) or Daemon(folder).running():
            pid = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            raise Taken(f"a daemon is running already (process {pid})", hint=f"kill {pid}", pid=pid)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _names(opened: Callable[[], App]) -> set[str]:
    with opened() as app:
        return {one.name for one in app.workers.records.all()}
