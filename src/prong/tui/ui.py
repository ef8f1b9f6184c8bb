"""The `prong ui` application: screens, global keys, and actions on the selection."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar

from textual.app import App as TextualApp
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.worker import Worker

from prong.app import App
from prong.config import Config, UiSettings
from prong.model.forks import Launch
from prong.model.sessions import Session
from prong.tui.content.preview import Preview, SessionReader
from prong.tui.lanes import Lanes, settle
from prong.tui.screens.fork_dialog import ForkDialog, Next
from prong.tui.screens.help_screen import HelpScreen, help_parts, key_names
from prong.tui.screens.page_screen import PageScreen
from prong.tui.screens.sessions_screen import SessionsScreen
from prong.tui.screens.tree_screen import TreeScreen
from prong.tui.screens.turns_screen import TurnsScreen
from prong.tui.screens.view import MainScreen, SelectedSession, Wish, report_bug
from prong.tui.screens.workers_screen import WorkersScreen
from prong.tui.worker_acts import WorkerActs
from prong.views.text import clean

_COMMANDS: Sequence[tuple[str, Wish, str]] = (
    ("Fork here", "fork", "A new session that starts with the turns up to this one"),
    ("Turns", "turns", "The turns of this session"),
    ("Transcript", "transcript", "The whole transcript of this session"),
    ("Diff", "diff", "The code changes of this turn"),
    ("Resume", "resume", "Resume this session"),
    ("Family", "tree", "The sessions this one was forked from or into"),
)
"""Commands in the palette, available on every screen."""
_NO_KEY = "f63"
"""A key that no keyboard has."""
_PLACES = {
    "sessions": "Search all turns of all sessions",
    "tree": "Which session was forked from which",
    "workers": "Running agents and their state",
}


class ProngUi(TextualApp[Launch]):
    """Application that handles the actions which screens request with `MainScreen.Wished`."""

    CSS_PATH = "styles.tcss"
    TITLE = "prong"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("alt+shift+f", "wish('fork')", "Fork", id="fork", priority=True),
        Binding("F", "wish('fork')", "Fork", id="fork-alone", show=False),
        Binding("f2", "go('sessions')", "Sessions", key_display="F2"),
        Binding("f3", "go('tree')", "Tree", key_display="F3"),
        Binding("f4", "go('workers')", "Workers", key_display="F4"),
        Binding("t", "wish('transcript')", "Transcript"),
        Binding("d", "wish('diff')", "Diff"),
        Binding("r", "wish('resume')", "Resume"),
        Binding("f1", "help", "Help", key_display="F1", priority=True),
        Binding("question_mark", "help", "Help", show=False),
        Binding("y", "copy", "Copy name", show=False),
        Binding("ctrl+q", "quit", "Quit", show=False),
        Binding("ctrl+c", "quit", "Quit", show=False, priority=True),
    ]

    def __init__(
        self,
        settings: Config,
        opened: Callable[[], App] = App,
        *,
        agents: Sequence[str],
        query: str = "",
    ) -> None:
        super().__init__()
        self.animation_level = "none"
        self._lanes = Lanes(opened)
        self._settings = settings
        self._agents = agents
        self._query = query
        self._bind_forks()

    def _bind_forks(self) -> None:
        """Bind the fork keys. Those with a modifier are never typed, so they work in any field."""
        keys = self._settings.ui.fork_keys
        if keys == UiSettings().fork_keys:
            return  # unchanged: rebinding would move them to the end of the footer
        modified = [key for key in keys if "+" in key]
        plain = [key for key in keys if "+" not in key]
        # Without a key, the built-in one would stay.
        self.set_keymap(
            {"fork": ",".join(modified) or _NO_KEY, "fork-alone": ",".join(plain) or _NO_KEY}
        )

    def get_key_display(self, binding: Binding) -> str:
        if binding.id == "fork":
            return "/".join(key_names(self._settings.ui.fork_keys))
        return super().get_key_display(binding)

    def on_mount(self) -> None:
        if self._settings.ui.theme in self.available_themes:
            self.theme = self._settings.ui.theme
        self._places: dict[str, MainScreen] = {
            "sessions": SessionsScreen(self._lanes, self._agents, query=self._query),
            "tree": TreeScreen(self._lanes),
            "workers": WorkersScreen(self._lanes),
        }
        for name, screen in self._places.items():
            self.install_screen(screen, name)  # pyright: ignore[reportUnknownMemberType]
        self.push_screen("sessions")
        self.call_after_refresh(settle)

    def close(self) -> None:
        """Stop all threads; first finish a fork in progress."""
        self._lanes.close()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        report_bug(self.screen, event)

    # -- actions requested by screens ----------------------------------------------------------

    @property
    def view(self) -> MainScreen | None:
        """The visible main screen; None while a dialog is open."""
        return self.screen if isinstance(self.screen, MainScreen) else None

    def on_main_screen_wished(self, event: MainScreen.Wished) -> None:
        # Ignore requests of a screen that is no longer visible: the selection is another one.
        if event.view is self.screen:
            self.action_wish(event.wish)

    def action_wish(self, wish: Wish) -> None:
        """Apply an action to the selection of the visible screen."""
        view = self.view
        if view is None or not view.is_mounted:
            return
        if isinstance(view, PageScreen) and view.shows == wish:
            return
        if wish == "back":
            if view not in self._places.values():
                self.pop_screen()
            return
        selection = view.selection
        point, session = selection.point, selection.session
        if point is None:
            self.notify("This does not apply to the selection.", severity="warning")
        elif wish == "fork":
            title = session.title if session else point
            self.push_screen(ForkDialog(self._lanes, point, title, self._agents), self._forked)
        elif wish == "diff":
            read = partial(SessionReader.change, point=point)
            self._open_page(wish, f"Diff  {point}", read, selection._replace(highlight=None))
        elif session is None:
            self.notify("Its session is not known yet or no longer exists.", severity="warning")
        elif wish == "resume":
            self.run_worker(partial(self._resume, view, session), exit_on_error=False)
        elif wish == "tree":
            self._open(TreeScreen(self._lanes, session))
        elif wish == "transcript":
            read = partial(SessionReader.transcript, session=session, turn=selection.turn_number)
            self._open_page(wish, f"Transcript  {session.title}", read, selection)
        else:
            turn_id = point.partition("@")[2] or None
            self._open(TurnsScreen(self._lanes, session, turn_id))

    def _open(self, screen: MainScreen) -> None:
        self.push_screen(screen)

    def _open_page(
        self,
        wish: Wish,
        title: str,
        read: Callable[[SessionReader], Preview],
        selection: SelectedSession,
    ) -> None:
        # Only lists know the turn: from here, the transcript opens at its beginning.
        selection = selection._replace(turn_number=None)
        self._open(PageScreen(self._lanes, wish, title, read, selection))

    async def _resume(self, view: MainScreen, session: Session) -> None:
        command = await view.told(
            self._lanes.reading.do(
                lambda app: app.setup.hooks.for_one_run(session.agent, app.sessions.resume(session))
            )
        )
        if command is not None:
            self.exit(command)

    # -- after a fork --------------------------------------------------------------------------

    def _forked(self, wanted: Next | None) -> None:
        view = self.view
        if wanted is None or view is None:
            return
        match wanted.wish:
            case "run" if wanted.launch is not None:
                self.exit(wanted.launch)
            case "attach" if wanted.worker is not None:
                attach = WorkerActs(view, self._lanes).attach(wanted.worker)
                self.run_worker(view.told(attach), exit_on_error=False)
            case _:
                self.run_worker(partial(self._see_fork, view, wanted), exit_on_error=False)

    async def _see_fork(self, view: MainScreen, wanted: Next) -> None:
        """Show the turns of a new fork, without the agent's answer to a seed."""
        ref = str(wanted.fork.child)
        session = await view.told(self._lanes.reading.do(lambda app: app.sessions.get(ref)))
        if session is not None:
            hides = wanted.fork.seed_ack_filtered
            self._open(TurnsScreen(self._lanes, session, without_answer=hides))

    def action_go(self, name: str) -> None:
        """Switch to one of the three main screens, which keep their state.

        Textual's modes are not used: entering one reparses all styles, which takes 100 ms.
        """
        if self.view is None:
            return  # a dialog must be closed first: it may be creating a fork
        while self.screen not in self._places.values():
            self.pop_screen()
        if self.screen is not self._places[name]:
            self.switch_screen(name)  # pyright: ignore[reportUnknownMemberType]

    # -- keys ----------------------------------------------------------------------------------

    def action_help(self) -> None:
        if isinstance(self.screen, HelpScreen):
            self.screen.action_leave()
        elif self.view is not None:
            self.push_screen(HelpScreen(help_parts(self._settings.ui.fork_keys)))

    def action_command_palette(self) -> None:
        """Open the palette, except over a dialog: its commands act on a screen's selection."""
        if self.view is not None:
            super().action_command_palette()

    def action_copy(self) -> None:
        point = self.view.selection.point if self.view else None
        if point is not None:
            self.copy_to_clipboard(point)
            self.notify(clean(f"copied {point}"), markup=False)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        for title, wish, description in _COMMANDS:
            yield SystemCommand(title, description, partial(self.action_wish, wish))
        for name, description in _PLACES.items():
            yield SystemCommand(name.capitalize(), description, partial(self.action_go, name))
        yield from super().get_system_commands(screen)  # pyright: ignore[reportUnknownMemberType]
