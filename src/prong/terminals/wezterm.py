"""WezTerm, by `wezterm cli`. Its list of panes tells no pids."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from prong.errors import External, NotFound, Unavailable
from prong.model.forks import Launch
from prong.model.workers import LivePane, Pane, Placement
from prong.terminals import detect, keys
from prong.terminals.handover import handed_over
from prong.terminals.programs import ProgramResult, run

_SOCKET = "WEZTERM_UNIX_SOCKET"
_HINT = "`wezterm cli list` tells whether a WezTerm answers; start one, or choose --terminal tmux"
_PIECE = 1000
"""How many bytes are pasted at once: more than 1024 were reported to be cut off."""
_NO_PANE = ("no such pane", "pane not found", "invalid pane", "not found in")
_NO_SERVER = ("failed to connect", "Connection refused", "No such file or directory")


class WezTerm:
    name = "wezterm"

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    @property
    def is_here(self) -> bool:
        return self.name in detect.inside(self._environ)

    def problem(self) -> str | None:
        if shutil.which("wezterm", path=self._environ.get("PATH")) is None:
            return "wezterm is not installed"
        answer = self._run(self._environ.get(_SOCKET), "list", "--format", "json")
        return None if answer.ok else f"no WezTerm answers: {answer.complaint.strip()[-200:]}"

    def open(self, launch: Launch, place: Placement) -> Pane:
        server = self._environ.get(_SOCKET) or None
        beside = ("--pane-id", self._environ["WEZTERM_PANE"]) if self.is_here else ()
        folder = ("--cwd", str(launch.cwd))
        with handed_over(launch) as words:
            if place is Placement.SPLIT and beside:
                arguments = ("split-pane", "--right", *beside)
            elif place is Placement.TAB and beside:
                arguments = ("spawn", *beside)
            else:
                arguments = ("spawn", "--new-window")
            answer = self._run(server, *arguments, *folder, "--", *words)
            if not answer.ok:
                raise self._failed(answer)
            pane = Pane(self.name, answer.output.strip(), server)
        if launch.title and place is not Placement.SPLIT:
            # Only a name; versions that cannot set it still have opened the pane.
            self._run(server, "set-tab-title", "--pane-id", pane.id, "--", launch.title)
        return pane

    def alive(self, panes: Sequence[Pane]) -> Mapping[Pane, LivePane]:
        found: dict[Pane, LivePane] = {}
        for server in dict.fromkeys(pane.server for pane in panes):
            living = {str(entry["pane_id"]) for entry in self._listed(server)}
            here = (pane for pane in panes if pane.server == server and pane.id in living)
            found.update((pane, LivePane()) for pane in here)
        return found

    def close(self, pane: Pane) -> None:
        answer = self._run(pane.server, "kill-pane", "--pane-id", pane.id)
        if not answer.ok and pane in self.alive([pane]):
            raise self._failed(answer)

    def send(self, pane: Pane, text: str) -> None:
        for piece in _pieces(keys.pasted(text)):
            self._expect(pane, "send-text", given=piece)

    def key(self, pane: Pane, *names: str) -> None:
        if names:
            self._expect(pane, "send-text", "--no-paste", given="".join(map(keys.typed, names)))

    def capture(self, pane: Pane, *, history: bool = False) -> str:
        start = ("--start-line", "-1000000") if history else ()
        text = self._expect(pane, "get-text", *start)
        return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n")

    def focus(self, pane: Pane) -> None:
        self._expect(pane, "activate-pane")

    def _listed(self, server: str | None) -> list[dict[str, Any]]:
        """All panes; none when no WezTerm runs."""
        answer = self._run(server, "list", "--format", "json")
        if not answer.ok:
            if any(message in answer.complaint for message in _NO_SERVER):
                return []
            raise answer.error(_HINT)
        try:
            return cast(list[dict[str, Any]], json.loads(answer.output))
        except ValueError:
            raise External("wezterm cli list gave no JSON", hint=_HINT) from None

    def _expect(self, pane: Pane, verb: str, *arguments: str, given: str = "") -> str:
        answer = self._run(pane.server, verb, "--pane-id", pane.id, *arguments, given=given)
        if not answer.ok:
            raise self._failed(answer)
        return answer.output

    def _failed(self, answer: ProgramResult) -> NotFound | Unavailable | External:
        if any(message in answer.complaint for message in _NO_PANE):
            return NotFound("the WezTerm pane no longer exists", hint="prong ps")
        if any(message in answer.complaint for message in _NO_SERVER):
            return Unavailable("no WezTerm answers", hint=_HINT)
        return answer.error(_HINT)

    def _run(self, server: str | None, *arguments: str, given: str = "") -> ProgramResult:
        environ = {**self._environ, **({_SOCKET: server} if server else {})}
        return run(("wezterm", "cli", *arguments), environ, given)


def _pieces(text: str) -> Iterator[str]:
    """The text in parts of at most so many bytes, none of which ends within a character."""
    data = text.encode("utf-8", "surrogateescape")
    start = 0
    while start < len(data):
        end = start + _PIECE
        while start < end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1
        yield data[start:end].decode("utf-8", "surrogateescape")
        start = end
