"""Server of `prong serve`, its socket and its lock."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from prong.app import App
from prong.config import Config
from prong.errors import External, Taken
from prong.files.atomic import locked
from prong.model.record import replace
from prong.paths import private_dir
from prong.serve.connection import SILENCE, ClientConnection
from prong.serve.events import Events
from prong.serve.monitor import Monitor
from prong.serve.responses import EXCEPTION_HANDLERS
from prong.serve.routes import Routes
from prong.serve.worker_types import PlugInWorkers
from prong.terminals.base import TakesOver
from prong.workers.daemon import SOCKET, Daemon
from prong.workers.daemon_socket import address
from prong.workers.panes import Terminals

_LOCK = "daemon.lock"
_PATIENCE = 10
"""Seconds that requests in progress get to finish when the daemon stops."""


class Server(uvicorn.Server):
    """Server that runs until a signal. Workers keep running."""

    def __init__(self, open_app: Callable[[], App], ready: Callable[[], None]) -> None:
        """`open_app` makes an `App` for one thread; `ready` is called once clients can connect."""

        def worker_names() -> set[str]:
            with open_app() as app:
                return {worker.name for worker in app.workers.records.all()}

        self._ready = ready
        self._events = Events()
        self._monitor = Monitor(open_app, self._events)
        self._plug_ins = PlugInWorkers(worker_names)
        routes = Routes(open_app, self._monitor, self._events, self._plug_ins)
        app = Starlette(routes=routes.all, exception_handlers=EXCEPTION_HANDLERS)
        app.router.redirect_slashes = False
        super().__init__(
            uvicorn.Config(
                app,
                http=ClientConnection,
                log_config=None,
                log_level="error",
                server_header=False,
                timeout_keep_alive=SILENCE,
                timeout_graceful_shutdown=_PATIENCE,
            )
        )

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Stop on these signals with exit status 0; uvicorn would raise them again at the end."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._monitor.start()
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """First answer clients that wait for workers: uvicorn waits until all are answered."""
        self._monitor.stop()
        self._events.close()
        await super().shutdown(sockets)
        self._plug_ins.close()


def run(
    settings: Config, terminals: Terminals, folder: Path, ready: Callable[[Path], None]
) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP. Calls `ready` with the path of the socket in `folder`.

    Raises `Taken` if a daemon is already running.
    """
    settings = _without_takeover(settings, terminals)
    path = folder / SOCKET

    def open_app() -> App:
        return App(settings, state=folder)

    with _locked_folder(folder), _bound(path) as listener:
        asyncio.run(Server(open_app, lambda: ready(path)).serve([listener]))


def _without_takeover(settings: Config, terminals: Terminals) -> Config:
    """Return settings without a default terminal that would replace this process."""
    terminal = settings.terminal
    if terminal.default and isinstance(terminals.named(terminal.default), TakesOver):
        return replace(settings, terminal=replace(terminal, default=None))
    return settings


@contextmanager
def _locked_folder(folder: Path) -> Generator[None]:
    """Hold the daemon's lock. The system releases it even if the process is killed."""
    private_dir(folder)
    private_dir(folder / "spool")
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)
    descriptor = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        # Some file systems have no locks, so a daemon that answers counts too.
        if not locked(descriptor, 0) or Daemon(folder).running():
            pid = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            raise Taken(f"a daemon is running already (process {pid})", hint=f"kill {pid}", pid=pid)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _bound(path: Path) -> Generator[socket.socket]:
    """Bind a socket that only its owner can use. Remove it at the end, unless it was replaced."""
    path.unlink(missing_ok=True)  # left by a daemon that was killed: this process has the lock
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        umask = os.umask(0o177)
        try:
            with address(path) as socket_path:
                listener.bind(socket_path)
        except OSError as error:
            raise External(f"{path} cannot be made: {error.strerror}") from error
        finally:
            os.umask(umask)
        inode = path.stat().st_ino
        try:
            yield listener
        finally:
            with suppress(OSError):
                if path.stat().st_ino == inode:
                    path.unlink()
