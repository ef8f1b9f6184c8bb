"""Prints the table of docs/internals/performance.md about the terminal UI, in markdown.

    python -m benchmarks.ui [--rounds 5] [--store FOLDER]

The start is that of the real program in a terminal of its own: the CPU time of its process, without
that of the process which keeps the index. Typing is measured inside of this process, from a key to
the list that is filled, and drawn, for it; a key comes a tenth of a second after the answer to the
one before, and the index is up to date. Nothing is written to a store that is given.
"""

import argparse
import asyncio
import fcntl
import math
import os
import platform
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

from textual import events
from textual.app import App as TextualApp
from textual.pilot import Pilot
from textual.widgets import Input

from benchmarks.mcp import environment, percentile, prong_program
from benchmarks.store import MANIFEST
from prong.app import App
from prong.tui.screens import sessions_screen
from prong.tui.screens.view import MainScreen
from prong.tui.ui import ProngUi
from prong.tui.widgets.page import Page
from prong.tui.widgets.rows import Rows
from tests.samples.claude import ClaudeSample

COLUMNS, LINES = 140, 40
QUERIES = (
    "rate limit of requests",
    "cache is not invalidated",
    "parser fails on an empty line",
    "retry after a timeout",
    "agent:codex migration",
)
LONG = 20_000
"""Lines of a transcript."""
_PATIENCE = 60.0
_PAUSE = 0.1
"""Seconds between two keys."""
_TICK = os.sysconf("SC_CLK_TCK")
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)")
_FILTERS, _CURSOR = "any time", "▌"
"""What is drawn of the filter bar, and at the first session."""


@dataclass(frozen=True)
class Start:
    """CPU seconds until something was seen."""

    frame: float
    sessions: float
    wall: float
    """Until the sessions were there."""


@contextmanager
def on_terminal(argv: list[str], variables: Mapping[str, str]) -> Generator[tuple[int, int]]:
    """A program in a terminal of its own: its process, and what to read from. It is ended."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    process = subprocess.Popen(
        argv, env=dict(variables), stdin=child, stdout=child, stderr=child, start_new_session=True
    )
    os.close(child)
    try:
        yield process.pid, parent
    finally:
        process.terminate()
        try:
            _drained(process, parent)
        finally:
            process.kill()
            process.wait()
            os.close(parent)


def _drained(process: subprocess.Popen[bytes], parent: int) -> None:
    """Read what it says at its end; who cannot write cannot end."""
    end = time.monotonic() + 10
    while process.poll() is None and time.monotonic() < end:
        if select.select([parent], [], [], 0.05)[0] and not _block(parent):
            break


def _block(parent: int) -> bytes:
    try:
        return os.read(parent, 1 << 16)
    except OSError:  # the other side is closed
        return b""


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def start(variables: Mapping[str, str], argv: Sequence[str] = ()) -> Start:
    began = time.perf_counter()
    end = time.monotonic() + _PATIENCE
    printed = b""
    frame: float | None = None
    with on_terminal([*(argv or (prong_program(), "ui"))], variables) as (pid, parent):
        while time.monotonic() < end:
            if not select.select([parent], [], [], 0.5)[0]:
                continue
            block = _block(parent)
            cpu = cpu_of(pid)
            if not block:
                break
            printed += block
            shown = _SEQUENCE.sub(b"", printed).decode(errors="replace")
            if frame is None and _FILTERS in shown:
                frame = cpu
            if frame is not None and _CURSOR in shown:
                return Start(frame, cpu, time.perf_counter() - began)
    raise RuntimeError(f"the sessions were never shown:\n{printed.decode(errors='replace')}")


@dataclass(frozen=True)
class Keys:
    """What each key took, of each round: until the list was filled, and until it was drawn."""

    wall: list[list[float]]
    drawn: list[list[float]]
    cpu: list[list[float]]

    @staticmethod
    def best(rounds: list[list[float]]) -> list[float]:
        """Of each key: the machine has disturbed it least."""
        return [min(times) for times in zip(*rounds, strict=True)]

    @staticmethod
    def all(rounds: list[list[float]]) -> list[float]:
        return [one for times in rounds for one in times]


class Screen:
    """The program, driven inside of this process."""

    def __init__(self, ui: TextualApp[Any], pilot: Pilot[Any]) -> None:
        self._ui = ui
        self._pilot = pilot

    @property
    def view(self) -> MainScreen:
        assert isinstance(self._ui.screen, MainScreen)
        return self._ui.screen

    def widget(self, kind: type[Any]) -> Any:
        return self.view.query_one(kind)

    def press(self, key: str) -> None:
        """At once: a pilot would wait after it."""
        self._ui.post_message(
            events.Key("space" if key == " " else key, key if len(key) == 1 else None)
        )

    async def until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + _PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError("the screen did not come to that")
            await asyncio.sleep(0.001)

    async def typed(self, letter: str) -> tuple[float, float, float]:
        """Seconds until the list was filled, and was drawn; the CPU time of the first."""
        view, rows = self.view, self.widget(Rows)
        before, drawn = view.selection.highlight, rows.drawn_rows
        began, cpu = time.perf_counter(), time.process_time()
        self.press(letter)
        await self.until(lambda: view.selection.highlight is not before)
        filled, busy = time.perf_counter() - began, time.process_time() - cpu
        await self.until(lambda: rows.drawn_rows > drawn or not rows.entries)
        return filled, time.perf_counter() - began, busy

    async def cleared(self) -> None:
        search: Input = self.widget(Input)
        if search.value:
            before = self.view.selection.highlight
            search.value = ""
            await self.until(lambda: self.view.selection.highlight is not before)
        await asyncio.sleep(1)


def driven(story: Callable[[Screen], Awaitable[None]]) -> None:
    async def told() -> None:
        async with ui.run_test(size=(COLUMNS, LINES)) as pilot:
            await story(Screen(ui, pilot))

    with App() as app:
        ui = ProngUi(app.settings, agents=list(app.stores))
    try:
        asyncio.run(told())
    finally:
        ui.close()


def typing(rounds: int) -> Keys:
    """Several queries, letter by letter."""
    wall: list[list[float]] = []
    drawn: list[list[float]] = []
    cpu: list[list[float]] = []

    async def story(screen: Screen) -> None:
        await screen.until(lambda: len(screen.widget(Rows).entries) > 0)
        for _ in range(rounds):
            wall.append([])
            drawn.append([])
            cpu.append([])
            for query in QUERIES:
                await screen.cleared()
                for letter in query:
                    filled, seen, busy = await screen.typed(letter)
                    wall[-1].append(filled)
                    drawn[-1].append(seen)
                    cpu[-1].append(busy)
                    await asyncio.sleep(_PAUSE)

    driven(story)
    return Keys(wall, drawn, cpu)


@dataclass(frozen=True)
class Long:
    lines: int
    rows: int
    """That were drawn until it was seen."""
    wall: float
    cpu: float


def long_transcript(root: Path, folder: Path) -> Long:
    """A transcript that takes hundreds of screens, from the key to its first screen."""
    sample = ClaudeSample("00000000-0000-4000-8000-000000000001", str(folder), datetime.now(UTC))
    sample.prompt("print all of them")
    each = 1_000
    for number in range(LONG // each):
        lines = "\n".join(f"{number * each + line}: a line of the output" for line in range(each))
        sample.tools(("Bash", {"command": f"print {number}"}, lines))
    sample.answer("All of them were printed.")
    sample.write(root)
    found: list[Long] = []

    async def story(screen: Screen) -> None:
        await screen.until(lambda: len(screen.widget(Rows).entries) > 0)
        screen.press("enter")
        await screen.until(
            lambda: not screen.view.query(Input) and bool(screen.widget(Rows).chosen)
        )
        await asyncio.sleep(1)
        before = screen.view
        began, cpu = time.perf_counter(), time.process_time()
        screen.press("t")
        await screen.until(lambda: screen.view is not before and bool(screen.view.query(Page)))
        page: Page = screen.widget(Page)
        await screen.until(lambda: page.virtual_size.height >= LONG and page.drawn_rows > 0)
        await asyncio.sleep(0.05)
        seconds = time.perf_counter() - began - 0.05, time.process_time() - cpu
        found.append(Long(len(page.lines), page.drawn_rows, *seconds))

    driven(story)
    return found[0]


def table(starts: list[Start], keys: Keys, long: Long) -> str:
    frame, sessions = (min(getattr(one, name) for one in starts) for name in ("frame", "sessions"))
    wall, drawn, cpu = map(Keys.best, (keys.wall, keys.drawn, keys.cpu))
    all_wall, all_drawn = map(Keys.all, (keys.wall, keys.drawn))
    count, rounds = len(wall), len(keys.wall)
    rows = (
        ("`prong ui` to the first frame", f"{frame:.2f} s CPU", ""),
        ("`prong ui` to the list of 2,000 sessions", f"{sessions:.2f} s CPU", "0.6 s"),
        ("the same, wall", f"{min(one.wall for one in starts):.2f} s", ""),
        (
            f"a key to its results in the list, half of {count} keys, best of {rounds} each",
            percentile(wall, 0.5),
            "",
        ),
        ("the same, 95 %", percentile(wall, 0.95), "50 ms"),
        ("the same, CPU, half and 95 %", _spread(cpu), ""),
        ("until they are drawn, half and 95 %", _spread(drawn), ""),
        (f"in the list, half and 95 % of all {count * rounds} keys", _spread(all_wall), ""),
        ("the same, until they are drawn", _spread(all_drawn), ""),
        (
            f"rows drawn to show a transcript of {long.lines:,} lines",
            f"{long.rows} ({math.ceil(long.cpu * 1000)} ms CPU)",
            f"{2 * LINES}",
        ),
    )
    head = ["| what | measured | limit |", "| --- | --- | --- |"]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows)])


def _spread(times: list[float]) -> str:
    """Half of them took no longer than the first, 95 % no longer than the second."""
    return f"{percentile(times, 0.5)}, {percentile(times, 0.95)}"


class _UpToDate:
    """In place of the process that keeps the index: there is nothing to be done."""

    def __init__(self, _: object) -> None:
        pass

    def start(self) -> None:
        pass

    def end(self) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--store", type=Path, help="use or make the store here, and keep it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="prong-bench-") as temporary:
        store = options.store or Path(temporary) / "store"
        if not (store / MANIFEST).exists():
            argv = [sys.executable, "-m", "benchmarks.store", str(store), "--sessions=2000"]
            subprocess.run([*argv, "--megabytes=500"], stdout=sys.stderr, check=True)
        home = Path(temporary) / "home"
        home.mkdir()
        variables = environment(home, store) | {"TERM": "xterm-256color"}
        argv = [prong_program(), "index", "--no-vectors"]
        subprocess.run(argv, env=variables, stdout=sys.stderr, check=True)
        starts = [start(variables) for _ in range(options.rounds)]
        os.environ |= variables
        os.chdir(home)
        empty = Path(temporary) / "long"
        empty.mkdir()
        with patch.object(sessions_screen, "IndexProcess", _UpToDate):
            keys = typing(options.rounds)
            os.environ |= environment(empty, empty)
            long = long_transcript(empty / "claude", empty)
        os.chdir("/")
    python = f"{platform.python_implementation()} {platform.python_version()}"
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    command = f"python -m benchmarks.ui --rounds {options.rounds}"
    print(f"{datetime.now(UTC):%Y-%m-%d}, {python}, {system}. Made by `{command}`.\n")
    print(table(starts, keys, long))


if __name__ == "__main__":
    main()
