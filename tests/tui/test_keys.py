"""Every capability that has a key has that key, and every key is told of."""

import re

import pytest
from textual.binding import Binding

from prong.config import Config, UiSettings
from prong.tui.screens.fork_dialog import ForkDialog
from prong.tui.screens.help_screen import help_parts, key_names
from prong.tui.screens.page_screen import PageScreen
from prong.tui.screens.sessions_screen import SessionsScreen
from prong.tui.screens.tree_screen import TreeScreen
from prong.tui.screens.turns_screen import TurnsScreen
from prong.tui.screens.workers_screen import WorkersScreen
from prong.tui.ui import ProngUi
from prong.tui.widgets.rows import Rows
from tests.capabilities import CAPABILITIES, Capability
from tests.cli.shell import Shell
from tests.tui.driving import Person, drive

SCREENS: dict[str, tuple[type, ...]] = {
    "any": (ProngUi,),
    "sessions": (SessionsScreen, Rows),
    "turns": (TurnsScreen, Rows),
    "tree": (TreeScreen, Rows),
    "workers": (WorkersScreen, Rows),
    "fork": (ForkDialog,),
}
WITH_KEYS = [one for one in CAPABILITIES if isinstance(one.key, str)]


def bindings(*screens: type) -> list[Binding]:
    """What their keys do."""
    found: list[Binding] = []
    for screen in screens:
        declared = getattr(screen, "BINDINGS", [])
        found += Binding.make_bindings(declared)
    return found


def keys(*screens: type) -> set[str]:
    return {binding.key for binding in bindings(*screens)}


@pytest.mark.parametrize("capability", WITH_KEYS, ids=lambda one: one.name)
def test_the_key_of_a_capability_is_there(capability: Capability) -> None:
    assert isinstance(capability.key, str)
    screen, _, key = capability.key.partition(": ")
    assert key == "typing" or key in keys(*SCREENS[screen])


def test_every_screen_is_reached() -> None:
    named = {str(one.key).partition(": ")[0] for one in WITH_KEYS}
    assert named == set(SCREENS) - {"tree"}


SILENT = {"up", "down", "k", "j", "left", "right", "home", "end", "pageup", "pagedown", "q"}
"""They do what they do everywhere."""


@pytest.mark.parametrize(
    "screen",
    [ProngUi, SessionsScreen, TurnsScreen, TreeScreen, WorkersScreen, PageScreen],
    ids=lambda one: one.__name__,
)
def test_every_key_is_in_the_help(screen: type) -> None:
    told = " ".join(key for _, some in help_parts(UiSettings().fork_keys) for key, _ in some)
    words = set(re.split(r"[\s,]+|\bor\b", told.lower())) | set(re.split(r"[\s,]+", told))
    for key in keys(screen) - SILENT:
        name = {"slash": "/", "question_mark": "f1", "escape": "esc"}.get(key, key)
        if name.startswith("alt+") and len(name) == 5:
            name = name[-1]  # the same as the letter, while somebody types
        assert name in words or name.lower() in words, key


def test_names_of_keys() -> None:
    assert key_names(["alt+shift+f", "F", "ctrl+f"]) == ["Alt+Shift+F", "F", "Ctrl+F"]


def test_the_fork_keys_can_be_others(samples: Shell) -> None:
    samples.home.root.joinpath(".config/prong").mkdir(parents=True, exist_ok=True)
    config = samples.home.root / ".config/prong/config.toml"
    config.write_text('[ui]\nfork_keys = ["ctrl+f", "f9"]\ntheme = "textual-light"\n')

    async def story(person: Person) -> None:
        await person.sees("5 sessions", "Ctrl+F/F9 Fork")
        assert person.ui.theme == "textual-light"
        await person.press("alt+shift+f")
        assert person.ui.view is not None
        await person.press("ctrl+f")
        await person.until(lambda: isinstance(person.ui.screen, ForkDialog))

    drive(story)


@pytest.mark.parametrize(("key", "other"), [("F", "alt+shift+f"), ("ctrl+f", "F")])
def test_one_fork_key_is_the_only_one(samples: Shell, key: str, other: str) -> None:
    config = samples.home.root / ".config/prong/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'[ui]\nfork_keys = ["{key}"]\n')

    async def story(person: Person) -> None:
        await person.sees("5 sessions")
        person.ui.screen.query_one("#found", Rows).focus()
        await person.press(other)
        assert person.ui.view is not None
        await person.press(key)
        await person.until(lambda: isinstance(person.ui.screen, ForkDialog))

    drive(story)


def test_a_theme_that_does_not_exist_is_none(samples: Shell) -> None:
    ui = ProngUi(Config(ui=UiSettings(theme="no such")), agents=["claude"])
    assert ui.theme in ui.available_themes
