"""WezTerm, through `wezterm cli`, whose list of panes has no pids."""

import json
import shutil
from collections.abc import Iterator, Mapping
from typing import Any

from prong.errors import External, NotFound, Unavailable
from prong.model.forks import Launch
from prong.model.workers import Pane, Placement
from prong.terminals import keys
from prong.terminals.base import PaneTerminal, trimmed
from prong.terminals.handover import handed_over
from prong.terminals.programs import ProgramResult, run

_SOCKET = "WEZTERM_UNIX_SOCKET"
_HINT = "`wezterm cli list` tells whether a WezTerm answers; start one, or choose --terminal tmux"
_PIECE = 1000
"""Bytes per paste: input beyond 1024 bytes was reported to be cut off."""
_NO_PANE = ("no such pane", "pane not found", "invalid pane", "not found in")
_NO_SERVER = ("failed to connect", "Connection refused", "No such file or directory")


class WezTerm(PaneTerminal):
    name = "wezterm"

    def problem(self) -> str | None:
        if shutil.which("wezterm", path=self._environ.get("PATH")) is None:
            return "wezterm is not installed"
        result = self._run(self._environ.get(_SOCKET), "list", "--format", "json")
        return None if result.ok else f"no WezTerm answers: {result.complaint.strip()[-200:]}"

    def open(self, launch: Launch, place: Placement) -> Pane:
        server = self._environ.get(_SOCKET) or None
        target = ("--pane-id", self._environ["WEZTERM_PANE"]) if self.is_here else ()
        folder = ("--cwd", str(launch.cwd))
        with handed_over(launch) as argv:
            if place is Placement.SPLIT and target:
                arguments = ("split-pane", "--right", *target)
            elif place is Placement.TAB and target:
                arguments = ("spawn", *target)
            else:
                arguments = ("spawn", "--new-window")
            result = self._run(server, *arguments, *folder, "--", *argv)
            if not result.ok:
                raise self._failed(result)
            pane = Pane(self.name, result.output.strip(), server)
        if launch.title and place is not Placement.SPLIT:
            # Versions that cannot set a title have opened the pane anyway.
            self._run(server, "set-tab-title", "--pane-id", pane.id, "--", launch.title)
        return pane

    def close(self, pane: Pane) -> None:
        result = self._run(pane.server, "kill-pane", "--pane-id", pane.id)
        if not result.ok and pane in self.alive([pane]):
            raise self._failed(result)

    def send(self, pane: Pane, text: str) -> None:
        for piece in _pieces(keys.pasted(text)):
            self._expect(pane, "send-text", given=piece)

    def key(self, pane: Pane, *names: str) -> None:
        if names:
            self._expect(pane, "send-text", "--no-paste", given="".join(map(keys.typed, names)))

    def capture(self, pane: Pane, *, history: bool = False) -> str:
        start = ("--start-line", "-1000000") if history else ()
        return trimmed(self._expect(pane, "get-text", *start))

    def focus(self, pane: Pane) -> None:
        self._expect(pane, "activate-pane")

    def _pids(self, server: str | None) -> Mapping[str, int | None]:
        result = self._run(server, "list", "--format", "json")
        if not result.ok:
            if any(message in result.complaint for message in _NO_SERVER):
                return {}
            raise result.error(_HINT)
        try:
            listed: list[dict[str, Any]] = json.loads(result.output)
            return {str(entry["pane_id"]): None for entry in listed}
        except ValueError:
            raise External("wezterm cli list gave no JSON", hint=_HINT) from None

    def _expect(self, pane: Pane, verb: str, *arguments: str, given: str = "") -> str:
        result = self._run(pane.server, verb, "--pane-id", pane.id, *arguments, given=given)
        if not result.ok:
            raise self._failed(result)
        return result.output

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
    """Split text into pieces of at most `_PIECE` bytes, never within a character."""
    data = text.encode("utf-8", "surrogateescape")
    start = 0
    while start < len(data):
        end = start + _PIECE
        while start < end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1
        yield data[start:end].decode("utf-8", "surrogateescape")
        start = end
