"""tmux. Outside tmux, panes go into a detached session named `prong`.

The server is the one around this process, else the socket in PRONG_TMUX_SOCKET, else the user's
default server. Pane ids restart with each server, so callers that store one also compare the pid.
"""

import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from prong.errors import External, NotFound, Unsupported
from prong.model.forks import Launch
from prong.model.workers import Pane, Placement
from prong.terminals import detect, keys
from prong.terminals.base import PaneTerminal, title_of, trimmed
from prong.terminals.handover import handed_over
from prong.terminals.programs import ProgramResult, run

SOCKET = "PRONG_TMUX_SOCKET"
SESSION = "prong"
"""Session for new panes when this process is not in tmux."""
_SIZE = ("-x", "200", "-y", "50")
"""Size of that session until a client attaches."""
_WHICH = "#{pane_id} #{socket_path}"
_NOT_FOR_ALL = ("CLAUDE", "ANTHROPIC_", "CODEX_", "OPENAI_", "PRONG_")
"""Prefixes of variables kept from a new server, which would pass them on to all later panes."""
_NO_SERVER = ("no server running", "error connecting to", "server exited", "no current target")
_NO_SESSION = (*_NO_SERVER, "can't find session")
_NO_PANE = (*_NO_SERVER, "can't find pane", "can't find window", "can't find session")
_HINT = "check with `tmux ls`; `tmux kill-server` stops a server that does not answer"


class Tmux(PaneTerminal):
    name = "tmux"

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__(environ)
        chosen = environ.get(SOCKET) or None
        surrounding = environ.get("TMUX", "").rsplit(",", 2)[0]
        # A missing socket belongs to a server that has ended, or to another machine.
        is_inside = self.name in detect.inside(environ) and Path(surrounding).exists()
        self._is_here = is_inside and (chosen is None or _same(chosen, surrounding))
        self._socket = surrounding if self._is_here else chosen

    @property
    def is_here(self) -> bool:
        return self._is_here

    def problem(self) -> str | None:
        import shutil  # slow to import, and rarely needed

        program = shutil.which("tmux", path=self._environ.get("PATH"))
        return None if program else "tmux is not installed"

    def open(self, launch: Launch, place: Placement) -> Pane:
        with handed_over(launch) as argv:
            if not self._is_here:
                return self._opened(self._detached(launch, argv))
            if place is Placement.SPLIT:
                split = self._split(launch, argv)
                if "no space for new pane" not in split.complaint:
                    return self._opened(split)
            return self._opened(self._window("", launch, argv))

    def close(self, pane: Pane) -> None:
        result = self._run(pane.server, "kill-pane", "-t", pane.id)
        if not result.ok and not _says(result, _NO_PANE):
            raise result.error(_HINT)

    def send(self, pane: Pane, text: str) -> None:
        text = keys.pasted(text)
        if not text:
            return
        buffer = f"prong-{uuid.uuid4().hex}"
        result = self._run(
            pane.server,
            *("load-buffer", "-b", buffer, "-", ";"),
            *("paste-buffer", "-p", "-r", "-d", "-b", buffer, "-t", pane.id),
            given=text,
        )
        if not result.ok:
            self._run(pane.server, "delete-buffer", "-b", buffer)
            raise self._failed(result, pane)

    def key(self, pane: Pane, *names: str) -> None:
        arguments = [_word(keys.named(name)) for name in names]
        if arguments:
            self._expect(pane, "send-keys", "-t", pane.id, "--", *arguments)

    def capture(self, pane: Pane, *, history: bool = False) -> str:
        start = ("-S", "-") if history else ()
        return trimmed(self._expect(pane, "capture-pane", "-p", "-J", *start, "-t", pane.id))

    def cursor_column(self, pane: Pane) -> int:
        column = self._expect(pane, "display-message", "-p", "-t", pane.id, "#{cursor_x}").strip()
        if not column.isdigit():  # empty when the pane is gone
            raise NotFound(f"pane {pane} no longer exists", hint="prong ps")
        return int(column)

    def exit_code(self, pane: Pane) -> int | None:
        dead, status, signal = self._end(pane)
        if dead and not status and not signal:
            # tmux sometimes misses the end of a program (seen with 3.3a, mostly in a new server).
            # When another program ends, it checks all of them.
            _, status, signal = self._end(pane, "run-shell", "true", ";")
        if status:
            return int(status)
        return 128 + int(signal) if signal else None

    def focus(self, pane: Pane) -> None:
        if not self._is_here or not _same(pane.server, self._socket):
            hint = f"TMUX= {' '.join(self.attaching(pane).argv)}"
            raise Unsupported("the pane is in another tmux server", hint=hint)
        result = self._run(
            pane.server,
            *("select-window", "-t", pane.id, ";", "select-pane", "-t", pane.id),
            *(";", "switch-client", "-t", pane.id),
        )
        # Without a client, the pane stays selected for whoever attaches next.
        if not result.ok and not _says(result, ("no current client",)):
            raise self._failed(result, pane)

    def attaching(self, pane: Pane) -> Launch:
        # tmux refuses to attach inside another tmux unless TMUX is empty.
        argv = ("tmux", *_socket(pane.server), "attach-session", "-t", pane.id)
        return Launch(argv, _working_folder(), {"TMUX": ""})

    # -- opening ----------------------------------------------------------------------------------

    def _split(self, launch: Launch, words: Sequence[str]) -> ProgramResult:
        # A pane can only be named while it is selected; `last-pane` then restores the focus.
        target = self._environ["TMUX_PANE"]
        return self._run(
            self._socket,
            *("split-window", "-h", "-t", target, "-P", "-F", _WHICH, *_folder(launch), *words),
            *(";", "set-option", "-p", "remain-on-exit", "on"),
            *(";", "select-pane", "-T", _text(title_of(launch))),
            *(";", "last-pane"),
        )

    def _window(self, session: str, launch: Launch, words: Sequence[str]) -> ProgramResult:
        """Open a window in the background, under a unique name until its options are set."""
        mark = f"prong-{uuid.uuid4().hex}"
        window = f"{session}:={mark}"
        target = ("-t", f"{session}:") if session else ()
        return self._run(
            self._socket,
            *("new-window", "-d", *target, "-n", mark, "-P", "-F", _WHICH),
            *(*_folder(launch), *words),
            *(";", "set-option", "-p", "-t", window, "remain-on-exit", "on"),
            *(";", "rename-window", "-t", window, _text(title_of(launch))),
        )

    def _detached(self, launch: Launch, words: Sequence[str]) -> ProgramResult:
        session = f"={SESSION}"
        result = self._window(session, launch, words)
        if result.ok or not _says(result, _NO_SESSION):
            return result
        result = self._run(
            self._socket,
            *("new-session", "-d", "-s", SESSION, "-n", _text(title_of(launch)), *_SIZE),
            *("-P", "-F", _WHICH, *_folder(launch), *words),
            *(";", "set-option", "-p", "-t", f"{session}:", "remain-on-exit", "on"),
        )
        # Another process created the session first.
        return self._window(session, launch, words) if _says(result, ("duplicate",)) else result

    def _opened(self, answer: ProgramResult) -> Pane:
        name, _, server = answer.output.rstrip("\n").partition(" ")
        if not answer.ok or not name:
            raise answer.error(_HINT)
        return Pane(self.name, name, server or self._socket)

    # -- queries ----------------------------------------------------------------------------------

    def _pids(self, server: str | None) -> Mapping[str, int | None]:
        columns = "#{pane_dead} #{pane_id} #{pane_pid}"
        result = self._run(server, "list-panes", "-a", "-F", columns)
        if not result.ok:
            if _says(result, _NO_SERVER) and not _is_closed_to_us(server):
                return {}
            raise result.error(_HINT)
        lines = (line.split(" ") for line in result.output.splitlines())
        return {name: int(pid) for dead, name, pid in lines if dead != "1"}

    def _end(self, pane: Pane, *before: str) -> tuple[bool, str, str]:
        """Return whether the program has ended, its exit status, and the signal that ended it."""
        columns = "#{pane_id} #{pane_dead} #{pane_dead_status} #{pane_dead_signal}"
        result = self._run(pane.server, *before, "display-message", "-p", "-t", pane.id, columns)
        if not result.ok and not _says(result, _NO_PANE):
            raise result.error(_HINT)
        # A missing pane is no error: tmux answers for no pane, or for another one.
        name, dead, status, signal = (*result.output.rstrip("\n").split(" "), "", "", "", "")[:4]
        return (True, status, signal) if name == pane.id and dead == "1" else (False, "", "")

    def _expect(self, pane: Pane, *arguments: str) -> str:
        result = self._run(pane.server, *arguments)
        if not result.ok:
            raise self._failed(result, pane)
        return result.output

    def _failed(self, answer: ProgramResult, pane: Pane) -> NotFound | External:
        if _says(answer, _NO_PANE):
            return NotFound(f"pane {pane} no longer exists", hint="prong ps")
        return answer.error(_HINT)

    def _run(self, server: str | None, *arguments: str, given: str = "") -> ProgramResult:
        hidden = () if server == self._socket and self._is_here else ("TMUX", "TMUX_PANE")
        environ = {
            name: value
            for name, value in self._environ.items()
            if name not in hidden and not name.startswith(_NOT_FOR_ALL)
        }
        # -u: capture UTF-8 whatever the locale of this process.
        return run(("tmux", "-u", *_socket(server), *arguments), environ, given)


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:  # deleted while in use
        return Path("/")


def _socket(server: str | None) -> tuple[str, ...]:
    return ("-S", server) if server else ()


def _folder(launch: Launch) -> tuple[str, str]:
    return "-c", _text(str(launch.cwd))


def _text(text: str) -> str:
    """Escape text for tmux: no `#(command)`, no control characters."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return _word(printable.replace("#", "##"))


def _word(text: str) -> str:
    """Escape a trailing `;`, which would start another command."""
    return f"{text[:-1]}\\;" if text.endswith(";") else text


def _says(answer: ProgramResult, messages: Iterable[str]) -> bool:
    return any(message in answer.complaint for message in messages)


def _is_closed_to_us(server: str | None) -> bool:
    return server is not None and os.path.exists(server) and not os.access(server, os.W_OK)


def _same(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return one == other
    return os.path.realpath(one) == os.path.realpath(other)
