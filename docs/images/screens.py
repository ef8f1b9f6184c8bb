"""Draws the pictures of the terminal UI: `python docs/images/screens.py`.

They are real ones: `prong ui` runs on the samples of `prong demo`, keys are pressed, and what is
then on the screen is written as SVG. Only the workers are made up, since no agent runs. Ids that
differ from run to run are replaced by others of the same length.
"""

import asyncio
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cached_property
from html import unescape
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

from textual._context import visible_screen_stack
from textual.pilot import Pilot
from textual.widgets import Input

from prong.agents.claude.store import ClaudeStore
from prong.app import App
from prong.config import Config, UiSettings
from prong.model.workers import Evidence, Pane, WorkerInfo, WorkerState, WorkerStatus
from prong.tui.screens import sessions_screen
from prong.tui.ui import ProngUi
from prong.views.text import cells
from prong.workers.service import Workers

FOLDER = Path(__file__).parent
SIZE = (120, 30)
PATIENCE = 20.0
HOME = "/home/ada"
TEMPORARY = Path("/tmp")  # noqa: S108 -- a folder of a new name is made in it
LIGHT = "textual-light"
API = "60309e1e-8f4b-4b8e-9c55-1f0d2c7a9b01"
WINDOW = "7d1c44a2-3c1b-4c0e-8f63-6a1e7b0d5c02"
PARSER = "01a1e076-654d-7c10-8a51-5f3f9e1b0d04"
SEARCH = "b54c2f90-0d0a-4f0e-a1d7-93c5e8f20a03"
KNOWN = (API, WINDOW, PARSER, SEARCH)

_STAND_IN = """#!/bin/sh
case "$1" in
--help) echo '{flags}';;
--version) echo "2.1.326 (Claude Code)";;
esac
"""
_FONTS = re.compile(r"@font-face \{.*?\}\s*", flags=re.DOTALL)
_FAMILY = "ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace"
_NEW = (
    (re.compile(r"(worktrees/shop-)[0-9a-f]{6}"), r"\g<1>e409cd"),
    (re.compile(r"(turn&#160;\d+,&#160;)[0-9a-f]{7}"), r"\g<1>027f6ed"),
    (
        re.compile(rf"(?!{'|'.join(KNOWN)})[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}"),
        "bd0ca308-a5db-4291-928c-4a88d1244156",
    ),
)
"""What is made up anew each time, and what stands there instead."""
CELL = 12.2
"""How wide a character is."""
_SPACE = "\xa0"
_BLOCKS = {"▊": 0.75, "▌": 0.5}
"""Characters that are a bar from top to bottom, and how wide it is."""
_TEXT = re.compile(
    r'<text( class="[^"]*" )x="([^"]*)" y="([^"]*)" textLength="[^"]*"( [^>]*)>([^<]*)</text>'
)

Story = Callable[["Person"], Awaitable[None]]


class _Told(Workers):
    """Workers, without the agents that they would be."""

    def all(self) -> list[WorkerStatus]:
        return [
            _worker("rate-limits", API, WorkerState.BUSY, 2, turn=4),
            _worker("window", WINDOW, WorkerState.WAITING, 6, turn=3, detail="permission_prompt"),
            _worker("short-words", SEARCH, WorkerState.IDLE, 41, turn=1),
            _worker("prices", PARSER, WorkerState.GONE, 95, turn=2, agent="codex"),
        ]


def _worker(
    name: str,
    session: str,
    state: WorkerState,
    minutes: int,
    *,
    turn: int,
    detail: str | None = None,
    agent: str = "claude",
) -> WorkerStatus:
    # Half a minute more, so that the age stays true while the picture is drawn.
    since = datetime.now(UTC) - timedelta(minutes=minutes, seconds=30)
    with App() as app:
        found = app.sessions.get(f"{agent}:{session}")
        last = app.sessions.conversation(found).turns[-1]
        said = [one.text for one in app.sessions.messages(found) if one.role == "assistant"]
    info = WorkerInfo(
        name=name,
        agent=agent,
        workspace=Path.home() / "shop",
        command=(agent,),
        created=since - timedelta(hours=1),
        session=session,
        pane=Pane("tmux", f"%{minutes % 9}"),
        branch=f"prong/{name}",
        version="0.169.0" if agent == "codex" else "2.1.326",
    )
    source = "pane" if state is WorkerState.GONE else "hook"
    said_last = next((text for text in reversed(said) if text.strip()), "")
    return WorkerStatus(
        info,
        Evidence(state, source, since, detail),
        turn=turn,
        last_line=said_last.strip().splitlines()[-1] if said_last else "",
        last_input=last.prompt,
    )


class _Shown(App):
    @cached_property
    def workers(self) -> Workers:
        return _Told(self)


class Person:
    """Somebody in front of the screen."""

    def __init__(self, ui: ProngUi, pilot: Pilot[Any]) -> None:
        self._ui = ui
        self._pilot = pilot

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)

    async def type(self, text: str) -> None:
        await self.press(*("space" if sign == " " else sign for sign in text))

    async def sees(self, *texts: str) -> None:
        """Wait until all of it is on the screen, and the screen is done with changing."""
        end = time.monotonic() + PATIENCE
        before = ""
        while True:
            await self._pilot.pause(0.4)
            shown = self._text()
            if shown == before and all(text in shown for text in texts):
                return
            if time.monotonic() > end:
                raise TimeoutError(f"{texts} is not on the screen:\n{shown}")
            before = shown

    def _text(self) -> str:
        # As Textual does before it renders, so that a dialog is drawn over the screen below it.
        visible_screen_stack.set(self._ui._background_screens)  # noqa: SLF001
        strips = self._ui.screen._compositor.render_strips()  # noqa: SLF001 -- as it is drawn
        return "\n".join(strip.text.rstrip() for strip in strips)


async def search(person: Person) -> None:
    """What was typed, the turns that fit, and the first of them."""
    await person.sees("5 sessions", "all prompts")
    await person.type("share the request counters")
    # The sentence model has found one more.
    await person.sees("3 turns in 5 sessions", "turn 2 of 4")


async def turns(person: Person) -> None:
    """The turns of the session that was found."""
    await search(person)
    await person.press("enter")
    await person.sees("code captured", "limit.py")


async def fork(person: Person) -> None:
    """What a fork at the second turn would do."""
    await turns(person)
    await person.press("F")
    await person.sees("in a new pane", "tokens", "command")


async def tree(person: Person) -> None:
    """Who was forked from whom."""
    await person.sees("5 sessions")
    await person.press("f3")
    await person.sees("in 2 trees", "Rate limiting")
    await person.press("down")
    await person.sees("forked from claude:60309e1e@2")


async def workers(person: Person) -> None:
    """What each does."""
    await person.sees("5 sessions")
    await person.press("f4")
    await person.sees("1 busy", "last turn")
    await person.press("down")
    await person.sees("window is waiting", "last turn (3)")


PICTURES: dict[str, tuple[Story, str | None]] = {
    "ui-search": (search, None),
    "ui-turns": (turns, None),
    "ui-fork": (fork, None),
    "ui-tree": (tree, None),
    "ui-workers": (workers, None),
    "ui-light": (search, LIGHT),
}


async def drawn(story: Story, theme: str | None) -> str:
    """The screen at the end of the story, as Textual draws it."""
    settings = Config(ui=UiSettings(theme=theme))
    ui = ProngUi(settings, _Shown, agents=["claude", "codex"])
    # The index is up to date.
    still = Mock()
    try:
        with patch.object(sessions_screen, "IndexProcess", lambda _told: still):
            async with ui.run_test(size=SIZE) as pilot:
                for field in ui.screen.query(Input):
                    field.cursor_blink = False
                await story(Person(ui, pilot))
                return ui.export_screenshot(title="prong ui")
    finally:
        ui.close()


def _text(found: re.Match[str]) -> str:
    """A text that begins where it can be seen; some programs drop the spaces before it."""
    head, x, y, rest, text = found.groups()
    bare = text.lstrip(_SPACE)
    lead = len(text) - len(bare)
    bare = bare.rstrip(_SPACE)
    if not bare:
        return ""
    left = float(x) + lead * CELL
    if part := _BLOCKS.get(bare):
        # Drawn, not written: the blocks of a font leave gaps between lines.
        size = f'width="{part * CELL:.1f}" height="24.6"'
        return f'<rect{head}x="{left:.1f}" y="{float(y) - 18.5:.1f}" {size}/>'
    columns = sum(map(cells, unescape(bare)))
    length = f'textLength="{columns * CELL:.1f}"'
    return (
        f'<text{head}x="{left:.1f}" y="{y}" {length}{rest}>{bare.replace(_SPACE, "&#160;")}</text>'
    )


def tidied(svg: str, name: str) -> str:
    """Without what is on the web, and without what differs from run to run."""
    svg = _FONTS.sub("", svg).replace(
        "<!-- Generated with Rich https://www.textualize.io -->\n", ""
    )
    svg = re.sub(r"terminal-\d+", name, svg)
    svg = re.sub(r"font-family: ?[^;]+;", f"font-family: {_FAMILY};", svg)
    for pattern, instead in _NEW:
        svg = pattern.sub(instead, svg)
    svg = _TEXT.sub(_text, svg.replace("&#160;", _SPACE))
    return "\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n"


@contextmanager
def folder_named_like(path: str) -> Generator[Path]:
    """A temporary folder with a path as long as this one: lines then break at the same place."""
    while True:
        free = len(path) - len(f"{TEMPORARY}/")
        folder = TEMPORARY / secrets.token_hex(free)[:free]
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        try:
            yield folder
        finally:
            shutil.rmtree(folder)
        return


def main() -> None:
    """Draw all of them."""
    with folder_named_like(HOME) as home, tempfile.TemporaryDirectory() as folder:
        demo = App(remember=False).demo(home)
        programs = Path(folder)
        claude = programs / "claude"
        flags = "\n".join(f"  {flag}  does" for flag in ClaudeStore().program.flags)
        claude.write_text(_STAND_IN.format(flags=flags))
        claude.chmod(0o755)
        socket = programs / "socket"
        socket.touch()
        os.environ |= {
            "HOME": str(home),
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            # As in a pane of tmux. No pane is opened.
            "TERM": "tmux-256color",
            "TMUX": f"{socket},1,0",
            "TMUX_PANE": "%0",
        }
        os.environ.pop("NO_COLOR", None)
        with demo.entered():
            os.chdir(demo.repository)
            with App() as app:
                app.index()
            for name, (story, theme) in PICTURES.items():
                svg = tidied(asyncio.run(drawn(story, theme)), name).replace(str(home), HOME)
                if str(TEMPORARY) in svg or home.name in svg:
                    raise ValueError(f"{name} shows a path of this machine")
                (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")
            os.chdir(FOLDER)


if __name__ == "__main__":
    main()
