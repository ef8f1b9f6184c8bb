"""tmux. Where prong itself does not run in it, panes go into a detached session `prong`.

Its server is the one around this process, else the socket that PRONG_TMUX_SOCKET names, else the
user's own. Ids of panes begin anew with each server: who stored one compares the pid, too.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from prong.errors import External, NotFound, Unsupported
from prong.model.forks import Launch
from prong.model.workers import LivePane, Pane, Placement
from prong.terminals import detect, keys
from prong.terminals.handover import handed_over
from prong.terminals.programs import ProgramResult, run

SOCKET = "PRONG_TMUX_SOCKET"
SESSION = "prong"
"""Where panes are when this process is in no tmux."""
_SIZE = ("-x", "200", "-y", "50")
"""Of that session, until somebody looks at it."""
_WHICH = "#{pane_id} #{socket_path}"
_NOT_FOR_ALL = ("CLAUDE", "ANTHROPIC_", "CODEX_", "OPENAI_", "PRONG_")
"""How variables begin that a new server must not get: it would hand them to all later panes."""
_NO_SERVER = ("no server running", "error connecting to", "server exited", "no current target")
_NO_SESSION = (*_NO_SERVER, "can't find session")
_NO_PANE = (*_NO_SERVER, "can't find pane", "can't find window", "can't find session")
_HINT = "check with `tmux ls`; `tmux kill-server` stops a server that does not answer"


class Tmux:
    name = "tmux"

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        wanted = environ.get(SOCKET) or None
        around = environ.get("TMUX", "").rsplit(",", 2)[0]
        # A socket that is not there is one of a server that has ended, or of another machine.
        is_inside = self.name in detect.inside(environ) and Path(around).exists()
        self._is_here = is_inside and (wanted is None or _same(wanted, around))
        self._socket = around if self._is_here else wanted

    @property
    def is_here(self) -> bool:
        return self._is_here

    def problem(self) -> str | None:
        import shutil  # who only looks at panes need not wait for it

        found = shutil.which("tmux", path=self._environ.get("PATH"))
        return None if found else "tmux is not installed"

    def open(self, launch: Launch, place: Placement) -> Pane:
        with handed_over(launch) as words:
            if not self._is_here:
                return self._opened(self._detached(launch, words))
            if place is Placement.SPLIT:
                split = self._split(launch, words)
                if "no space for new pane" not in split.complaint:
                    return self._opened(split)
            return self._opened(self._window("", launch, words))

    def alive(self, panes: Sequence[Pane]) -> Mapping[Pane, LivePane]:
        found: dict[Pane, LivePane] = {}
        for server in dict.fromkeys(pane.server for pane in panes):
            living = self._living(server)
            here = (pane for pane in panes if pane.server == server and pane.id in living)
            found.update((pane, LivePane(living[pane.id])) for pane in here)
        return found

    def close(self, pane: Pane) -> None:
        answer = self._run(pane.server, "kill-pane", "-t", pane.id)
        if not answer.ok and not _says(answer, _NO_PANE):
            raise answer.error(_HINT)

    def send(self, pane: Pane, text: str) -> None:
        text = keys.pasted(text)
        if not text:
            return
        buffer = f"prong-{uuid.uuid4().hex}"
        answer = self._run(
            pane.server,
            *("load-buffer", "-b", buffer, "-", ";"),
            *("paste-buffer", "-p", "-r", "-d", "-b", buffer, "-t", pane.id),
            given=text,
        )
        if not answer.ok:
            self._run(pane.server, "delete-buffer", "-b", buffer)
            raise self._failed(answer, pane)

    def key(self, pane: Pane, *names: str) -> None:
        words = [_word(keys.named(name)) for name in names]
        if words:
            self._expect(pane, "send-keys", "-t", pane.id, "--", *words)

    def capture(self, pane: Pane, *, history: bool = False) -> str:
        start = ("-S", "-") if history else ()
        text = self._expect(pane, "capture-pane", "-p", "-J", *start, "-t", pane.id)
        return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n")

    def cursor_column(self, pane: Pane) -> int:
        told = self._expect(pane, "display-message", "-p", "-t", pane.id, "#{cursor_x}").strip()
        if not told.isdigit():  # of a pane that is gone nothing is told
            raise NotFound(f"pane {pane} no longer exists", hint="prong ps")
        return int(told)

    def exit_code(self, pane: Pane) -> int | None:
        dead, status, signal = self._end(pane)
        if dead and not status and not signal:
            # tmux sometimes sleeps through the end of a program (seen with 3.3a, mostly in a new
            # server). The end of another one wakes it up, and it then looks at all of them.
            _, status, signal = self._end(pane, "run-shell", "true", ";")
        if status:
            return int(status)
        return 128 + int(signal) if signal else None

    def focus(self, pane: Pane) -> None:
        if not self._is_here or not _same(pane.server, self._socket):
            hint = f"TMUX= {' '.join(self.attaching(pane).argv)}"
            raise Unsupported("the pane is in another tmux server", hint=hint)
        answer = self._run(
            pane.server,
            *("select-window", "-t", pane.id, ";", "select-pane", "-t", pane.id),
            *(";", "switch-client", "-t", pane.id),
        )
        # Whoever comes back to a session that nobody looks at finds it there.
        if not answer.ok and not _says(answer, ("no current client",)):
            raise self._failed(answer, pane)

    def attaching(self, pane: Pane) -> Launch:
        # TMUX is empty so that it may be inside of another one.
        argv = ("tmux", *_socket(pane.server), "attach-session", "-t", pane.id)
        return Launch(argv, _working_folder(), {"TMUX": ""})

    # -- opening ----------------------------------------------------------------------------------

    def _split(self, launch: Launch, words: Sequence[str]) -> ProgramResult:
        # The new pane can only be named while it is the current one; then the person gets back.
        beside = self._environ["TMUX_PANE"]
        return self._run(
            self._socket,
            *("split-window", "-h", "-t", beside, "-P", "-F", _WHICH, *_folder(launch), *words),
            *(";", "set-option", "-p", "remain-on-exit", "on"),
            *(";", "select-pane", "-T", _title(launch)),
            *(";", "last-pane"),
        )

    def _window(self, session: str, launch: Launch, words: Sequence[str]) -> ProgramResult:
        """A window behind the others. It has a name of its own until its options are set."""
        mark = f"prong-{uuid.uuid4().hex}"
        window = f"{session}:={mark}"
        beside = ("-t", f"{session}:") if session else ()
        return self._run(
            self._socket,
            *("new-window", "-d", *beside, "-n", mark, "-P", "-F", _WHICH),
            *(*_folder(launch), *words),
            *(";", "set-option", "-p", "-t", window, "remain-on-exit", "on"),
            *(";", "rename-window", "-t", window, _title(launch)),
        )

    def _detached(self, launch: Launch, words: Sequence[str]) -> ProgramResult:
        session = f"={SESSION}"
        answer = self._window(session, launch, words)
        if answer.ok or not _says(answer, _NO_SESSION):
            return answer
        answer = self._run(
            self._socket,
            *("new-session", "-d", "-s", SESSION, "-n", _title(launch), *_SIZE),
            *("-P", "-F", _WHICH, *_folder(launch), *words),
            *(";", "set-option", "-p", "-t", f"{session}:", "remain-on-exit", "on"),
        )
        # Somebody else was faster.
        return self._window(session, launch, words) if _says(answer, ("duplicate",)) else answer

    def _opened(self, answer: ProgramResult) -> Pane:
        name, _, server = answer.output.rstrip("\n").partition(" ")
        if not answer.ok or not name:
            raise answer.error(_HINT)
        return Pane(self.name, name, server or self._socket)

    # -- asking -----------------------------------------------------------------------------------

    def _living(self, server: str | None) -> dict[str, int]:
        told = "#{pane_dead} #{pane_id} #{pane_pid}"
        answer = self._run(server, "list-panes", "-a", "-F", told)
        if not answer.ok:
            if _says(answer, _NO_SERVER) and not _is_closed_to_us(server):
                return {}
            raise answer.error(_HINT)
        lines = (line.split(" ") for line in answer.output.splitlines())
        return {name: int(pid) for dead, name, pid in lines if dead != "1"}

    def _end(self, pane: Pane, *before: str) -> tuple[bool, str, str]:
        """Whether its program is over, with its status, or with the signal that ended it."""
        told = "#{pane_id} #{pane_dead} #{pane_dead_status} #{pane_dead_signal}"
        answer = self._run(pane.server, *before, "display-message", "-p", "-t", pane.id, told)
        if not answer.ok and not _says(answer, _NO_PANE):
            raise answer.error(_HINT)
        # Of a pane that is gone there is no error: the answer is about none, or about another.
        name, dead, status, signal = (*answer.output.rstrip("\n").split(" "), "", "", "", "")[:4]
        return (True, status, signal) if name == pane.id and dead == "1" else (False, "", "")

    def _expect(self, pane: Pane, *arguments: str) -> str:
        answer = self._run(pane.server, *arguments)
        if not answer.ok:
            raise self._failed(answer, pane)
        return answer.output

    def _failed(self, answer: ProgramResult, pane: Pane) -> NotFound | External:
        if _says(answer, _NO_PANE):
            return NotFound(f"pane {pane} no longer exists", hint="prong ps")
        return answer.error(_HINT)

    def _run(self, server: str | None, *arguments: str, given: str = "") -> ProgramResult:
        left_out = () if server == self._socket and self._is_here else ("TMUX", "TMUX_PANE")
        environ = {
            name: value
            for name, value in self._environ.items()
            if name not in left_out and not name.startswith(_NOT_FOR_ALL)
        }
        # -u: what is captured is UTF-8, whatever the locale of this process.
        return run(("tmux", "-u", *_socket(server), *arguments), environ, given)


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:  # it was removed under us
        return Path("/")


def _socket(server: str | None) -> tuple[str, ...]:
    return ("-S", server) if server else ()


def _folder(launch: Launch) -> tuple[str, str]:
    return "-c", _text(str(launch.cwd))


def _title(launch: Launch) -> str:
    return _text(launch.title or Path(launch.argv[0]).name)


def _text(text: str) -> str:
    """A text in which tmux shall look for nothing: no `#(command)`, no control character."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return _word(printable.replace("#", "##"))


def _word(text: str) -> str:
    """A `;` at the end of a word would begin another command."""
    return f"{text[:-1]}\\;" if text.endswith(";") else text


def _says(answer: ProgramResult, messages: Iterable[str]) -> bool:
    return any(message in answer.complaint for message in messages)


def _is_closed_to_us(server: str | None) -> bool:
    return server is not None and os.path.exists(server) and not os.access(server, os.W_OK)  # noqa: PTH110


def _same(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return one == other
    return os.path.realpath(one) == os.path.realpath(other)
