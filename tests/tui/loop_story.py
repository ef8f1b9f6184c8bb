"""Somebody works with the terminal UI; prints how long the event loop was held up by what.

A program of its own, because what measures tests would be measured as well.
"""

import asyncio
import json
import sys
import threading
import time
from collections import defaultdict
from typing import Any

from prong.forks.service import ForkService
from prong.search.service import SearchService
from prong.session.service import SessionService
from prong.tui.screens.page_screen import PageScreen
from prong.tui.screens.turns_screen import TurnsScreen
from prong.tui.widgets.rows import Rows
from tests.tui.driving import Person, drive

_WORDS = 20_000
_USUAL = 0.0087
"""Seconds that making and sorting so many words takes where nothing else is to be done."""
_WATCHED: dict[type, tuple[str, ...]] = {
    SearchService: ("find",),
    SessionService: ("list", "conversation", "messages", "tree"),
    ForkService: ("plan", "make"),
}


class Steps:
    """The most CPU that one step of the event loop took, by what somebody had just done.

    CPU of the thread, not time on the clock: other processes take that as they like.
    """

    def __init__(self) -> None:
        self.doing = "start"
        self.longest: dict[str, float] = defaultdict(float)
        run = asyncio.Handle._run

        def measured(handle: asyncio.Handle) -> None:
            begun = time.thread_time()
            run(handle)
            taken = time.thread_time() - begun
            self.longest[self.doing] = max(self.longest[self.doing], taken)

        setattr(asyncio.Handle, "_run", measured)  # noqa: B010 -- it is nobody's to assign


def slowness() -> float:
    """How much slower the machine is just now; what others do on it takes from its caches."""
    taken: list[float] = []
    for _ in range(3):
        begun = time.thread_time()
        known = {str(number): [number] for number in range(_WORDS)}
        sorted(known, key=lambda word: word[::-1])
        taken.append(time.thread_time() - begun)
    return max(1.0, min(taken) / _USUAL)


def watched() -> set[str]:
    """The threads that applications are used on, from now on."""
    used: set[str] = set()

    def watch(service: type, name: str) -> None:
        method = getattr(service, name)

        def called(*given: Any, **named: Any) -> Any:
            used.add(threading.current_thread().name)
            return method(*given, **named)

        setattr(service, name, called)

    for service, names in _WATCHED.items():
        for name in names:
            watch(service, name)
    return used


def main() -> None:
    steps, threads = Steps(), watched()
    before = slowness()

    async def story(person: Person) -> None:
        async def then(doing: str, *keys: str) -> None:
            steps.doing = doing
            await person.press(*keys)

        await person.sees("5 sessions")
        await then("typing", *"rate limiting")
        await person.sees("in 5 sessions", "Add rate limiting")
        await then("looking", "down", "down", "down", "down")
        person.ui.screen.query_one("#found", Rows).focus()
        await then("matches", "home", "t")
        await person.until(lambda: isinstance(person.ui.screen, PageScreen))
        await person.press("G")
        await person.sees("step 2999")
        await person.press("g")
        while "No match below" not in person.screen:
            await person.press("n")
        await person.press("escape")
        await then("turns", "home", "enter")
        await person.until(lambda: isinstance(person.ui.screen, TurnsScreen))
        await person.sees("turns ·")
        await then("transcript", "t")
        await person.until(lambda: isinstance(person.ui.screen, PageScreen))
        await then("its end", "G")
        await person.sees("step 2999")
        await then("fork", "g", "escape", "F")
        await person.sees("Cancel")
        await then("tree", "escape", "f3")
        await person.sees("trees")
        await then("workers", "f4")
        await person.sees("no workers")

    drive(story)
    told = {
        "longest": steps.longest,
        "threads": sorted(threads),
        "slowness": max(before, slowness()),
    }
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
