"""Every screen as it looks, in two sizes: pictures that are compared with those in `pictures`.

`PRONG_UPDATE_PICTURES=1` draws them anew; look at them before they are committed.
"""

import os
import re
import secrets
import shutil
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from prong.app import App
from prong.config import Config
from prong.model.workers import Evidence, Pane, WorkerInfo, WorkerState, WorkerStatus
from prong.tui.widgets.page import Page
from prong.tui.widgets.rows import Rows
from prong.workers.states import WorkerStates
from tests.cli import agents
from tests.cli.shell import API, SEARCH, WINDOW, Shell
from tests.tui.driving import Person, drive

FOLDER = Path(__file__).with_name("pictures")
HOME = "/home/ada"
TEMPORARY = Path("/tmp")  # noqa: S108 -- a folder of a new name is made in it
SMALL, LARGE = (80, 24), (160, 48)
_CHANGING = (
    (r"terminal-\d+", "terminal"),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "0" * 36),
    (r"(shop-)[0-9a-f]{6}(/)", r"\g<1>000000\g<2>"),
    (r"(turn&#160;\d,&#160;)[0-9a-f]{7}", r"\g<1>0000000"),
    (r"(?s)<style>.*?</style>", "<style></style>"),
)
"""What differs from run to run: ids of repositories, sessions and commits. Fonts are no matter."""

Story = Callable[[Person], Awaitable[None]]


@pytest.fixture
def home(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The home of `prong demo`, in a folder whose name is as long as `/home/ada`."""
    home = TEMPORARY / secrets.token_hex(2)
    assert len(str(home)) == len(HOME)
    home.mkdir(mode=0o700)
    try:
        made = App(Config()).setup.demo(home)
        for name, value in {**made.environment, "HOME": str(home)}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
        agents.install_both(shell, monkeypatch)
        monkeypatch.chdir(made.repository)
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)  # threads that read may still let go of it


async def sessions(person: Person) -> None:
    await person.sees("5 sessions", "── first turn")


async def search(person: Person) -> None:
    await sessions(person)
    await person.type("redis")
    await person.sees("3 turns in 5 sessions", "── turn 3 of 4")


async def nothing(person: Person) -> None:
    await sessions(person)
    await person.type("xyzzy")
    await person.sees("Nothing about")


async def turns(person: Person) -> None:
    await search(person)
    await person.press("enter")
    await person.sees("turns ·", "1 file changed, +18 -0")


async def transcript(person: Person) -> None:
    await turns(person)
    await person.press("t")
    await person.sees("Transcript", "── turn 3 ──")


async def diff(person: Person) -> None:
    await turns(person)
    await person.press("d")
    await person.sees("Diff", "+import redis")


async def fork(person: Person) -> None:
    await turns(person)
    await person.press("F")
    await person.sees("command", "Cancel", "tokens of")


async def tree(person: Person) -> None:
    await sessions(person)
    await person.press("f3")
    await person.sees("in 2 trees", "── first turn")


async def workers(person: Person) -> None:
    await sessions(person)
    await person.press("f4")
    await person.sees("No workers yet.")


async def workers_at_work(person: Person) -> None:
    await sessions(person)
    await person.press("f4")
    await person.sees("1 busy", "rate-limits is busy")
    await person.press("down")
    await person.sees("window is waiting")
    page = person.ui.screen.query_one("#preview", Page)
    await person.until(lambda: any("last turn (3)" in one.text for one in page.lines))


async def keys(person: Person) -> None:
    await sessions(person)
    await person.press("f1")
    await person.sees("Everywhere")


STORIES = (sessions, search, nothing, turns, transcript, diff, fork, tree, workers, keys)


def told_workers(_: WorkerStates) -> list[WorkerStatus]:
    """Of each kind one, made up: a real agent would be drawn differently each time."""
    return [
        _told("rate-limits", API, WorkerState.BUSY, 2, "Document the limit"),
        _told("window", WINDOW, WorkerState.WAITING, 6, "Try it", "permission_prompt"),
        _told("short-words", SEARCH, WorkerState.IDLE, 41, "Find short words"),
        _told("old-one", API, WorkerState.GONE, 95, "Count by key"),
    ]


def _told(
    name: str, session: str, state: WorkerState, minutes: int, asked: str, detail: str | None = None
) -> WorkerStatus:
    # Half a minute more, so that the age stays true while the picture is drawn.
    since = datetime.now(UTC) - timedelta(minutes=minutes, seconds=30)
    info = WorkerInfo(
        name=name,
        agent="claude",
        workspace=Path.home() / "shop",
        command=("claude",),
        created=since - timedelta(hours=1),
        session=session,
        pane=Pane("tmux", f"%{minutes}"),
        branch=f"prong/{name}",
        version="2.1.326",
    )
    seen = Evidence(state, "hook", since, detail)
    return WorkerStatus(info, seen, turn=1, last_line=f"About: {asked}", last_input=asked)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "160x48"])
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
@pytest.mark.usefixtures("no_index", "no_model")
def test_a_screen(home: Path, story: Story, size: tuple[int, int]) -> None:
    compare(home, story, size)


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "160x48"])
@pytest.mark.usefixtures("no_index", "no_model")
def test_the_workers(home: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WorkerStates, "all", told_workers)
    compare(home, workers_at_work, size)


def compare(home: Path, story: Story, size: tuple[int, int]) -> None:
    """What the story comes to, with the picture of it."""
    with App() as app:
        app.search.index(vectors=False)
    drawn: list[str] = []

    async def told(person: Person) -> None:
        await person.ready()
        await story(person)
        drawn.append(await _settled(person, home))

    drive(told, size=size)
    name = FOLDER / f"{story.__name__}-{size[0]}x{size[1]}.svg"
    if os.environ.get("PRONG_UPDATE_PICTURES"):
        FOLDER.mkdir(exist_ok=True)
        name.write_text(drawn[0])
    assert _text(drawn[0]) == _text(name.read_text()), f"{name.name}: the text differs"
    assert drawn[0] == name.read_text(), f"{name.name}: colours or places differ"


async def _settled(person: Person, home: Path) -> str:
    """The picture, when it is the same as the one before it: all that is read is there."""
    before, now = "", _picture(person, home)
    while now != before:
        await person.pilot.pause(0.15)
        before, now = now, _picture(person, home)
    return now


def _picture(person: Person, home: Path) -> str:
    svg = person.ui.export_screenshot(title="prong").replace(str(home), HOME)
    for pattern, instead in _CHANGING:
        svg = re.sub(pattern, instead, svg)
    return svg


def _text(svg: str) -> list[str]:
    """What is written in a picture, line by line."""
    pieces = re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>([^<]*)</text>', svg)
    lines: dict[str, str] = {}
    for y, text in pieces:
        lines[y] = lines.get(y, "") + text.replace("&#160;", " ")
    return list(lines.values())


def test_a_page_is_drawn_in_the_colours_of_the_theme(samples: Shell, no_index: None) -> None:
    """What is dim is nearer to the background, in a dark theme and in a light one."""

    async def story(person: Person) -> None:
        await person.sees("5 sessions", "── first turn")
        for theme in ("textual-dark", "textual-light"):
            person.ui.theme = theme
            await person.pilot.pause()
            page = person.ui.screen.query_one(Page)
            rows = person.ui.screen.query_one(Rows)
            plain, dim = page.rich_style.color, page.styled("dim").color
            back = page.rich_style.bgcolor
            assert plain is not None
            assert dim is not None
            assert back is not None
            light = [sum(one.get_truecolor()) for one in (back, dim, plain)]
            assert light == sorted(light) or light == sorted(light, reverse=True)
            assert rows.styled("dim").color is not None

    drive(story)
