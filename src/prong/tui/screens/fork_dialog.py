"""Fork dialog: a form with the fork plan, then the result."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, TypeVar, cast

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input, Static
from textual.worker import Worker

from prong.app import App
from prong.errors import Busy, ProngError, Unavailable
from prong.forks.request import ForkRequest
from prong.model.amounts import counted
from prong.model.budget import BudgetLevel
from prong.model.forks import Code, Fork, Launch, Method
from prong.model.record import replace
from prong.threads import Newest
from prong.tui.content.forking import (
    Forker,
    NewFork,
    Planned,
    Run,
    Wanted,
    in_the_form,
    outcome,
)
from prong.tui.lanes import Lanes
from prong.tui.screens.dialogs import Dialog
from prong.tui.screens.view import report_bug
from prong.tui.widgets.form import Choice, Field, TextLine
from prong.views.text import clean, cut, short_path

T = TypeVar("T")

_TYPED = 0.2
"""Seconds without a key before the plan is updated."""
_PATIENCE = 0.5
"""Seconds between checks that the user still waits."""
_LONGEST_TURN = 60
_AROUND = 6
"""Lines of the border, the title and the buttons."""
_MOST = 9
"""Maximum number of forks."""
_METHODS = (("copy", "copy"), ("native", "the agent's own fork"), ("seed", "seed: as a prompt"))
_CODES = (
    ("turn", "as of the turn"),
    ("now", "as it is now"),
    ("head", "the last commit"),
    ("none", "untouched"),
)
_RUNS: tuple[tuple[Run, str], ...] = (
    ("pane", "in a new pane"),
    ("here", "in this terminal"),
    ("later", "not now"),
)
_STYLES = {"good": "$text-success", "warning": "$text-warning", "failed": "$text-error"}
_BAR = 20
_LEVELS = {
    BudgetLevel.OK: ("$text-success", ""),
    BudgetLevel.NEAR: ("$text-warning", "  close to the window"),
    BudgetLevel.OVER: ("$text-error", "  more than the window"),
    BudgetLevel.UNKNOWN: ("$text-muted", ""),
}


After = Literal["attach", "run", "turns"]


class Next(NamedTuple):
    """What to do with a new fork after the dialog closes."""

    wish: After
    fork: Fork
    worker: str | None = None
    launch: Launch | None = None


class ForkDialog(Dialog[Next | None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Cancel"),
        Binding("enter", "agree", "Fork"),
        Binding("w", "wait", "Wait"),
        Binding("up", "app.focus_previous", show=False),
        Binding("down", "app.focus_next", show=False),
    ]

    def __init__(self, lanes: Lanes, point: str, title: str, agents: Sequence[str]) -> None:
        super().__init__()
        self._lanes = lanes
        self._agents = agents
        self._wanted = Wanted(point)
        self._title = title
        self._plans = Newest(lanes.forking)
        self._planned: Planned | None = None
        self._made: NewFork | None = None
        self._shown: dict[str, str] = {}
        """Values that the plan wrote into fields, to recognize edits."""
        self._is_forking = False
        self._seconds = 0
        self._is_to_be_left = False
        """The user wants to leave once the fork is created."""
        self._waits = False

    def compose(self) -> ComposeResult:
        unknown = [("", "...")]
        counts = [(str(number), str(number)) for number in range(1, _MOST + 1)]
        history = (("", "as the model sees it"), ("full", "all words"))
        placeholder = "first prompt (optional)"
        with Vertical(id="dialog"):
            yield Static(f"Fork  {clean(self._title)}", id="dialog-title", markup=False)
            with VerticalScroll(id="form", can_focus=False):
                yield Field("from", Static("", id="source", markup=False))
                yield Field("turn", Choice("", unknown, id="turn"))
                yield Field(
                    "agent",
                    Choice("", unknown, id="agent"),
                    Choice("how", _METHODS, id="method"),
                    id="agent-field",
                )
                yield Field("history", Choice("", history, id="history"), id="history-field")
                yield Field(
                    "code", Choice("", _CODES, id="code"), Static("", id="code-told", markup=False)
                )
                yield Field("folder", TextLine(compact=True, id="folder"))
                yield Field("branch", TextLine(compact=True, id="branch"))
                yield Field("prompt", TextLine(placeholder=placeholder, compact=True, id="prompt"))
                yield Field("run", Choice("", _RUNS, id="run"), Choice("count", counts, id="count"))
                yield Field("size", Static("", id="size"))
                yield Field("command", Static("", id="command", markup=False))
                yield Static("", id="notes")
            with VerticalScroll(id="made-box", can_focus=False):
                yield Static("", id="made")
            with Horizontal(id="buttons"):
                yield Button("Fork", variant="primary", compact=True, id="fork")
                yield Button("Wait until it is idle", compact=True, id="wait")
                yield Button("Attach", variant="primary", compact=True, id="attach")
                yield Button("Run it here", variant="primary", compact=True, id="run-here")
                yield Button("Show turns", compact=True, id="turns")
                yield Button("Cancel", compact=True, id="cancel")
                yield Static("planning ...", id="progress", markup=False)

    def on_mount(self) -> None:
        for button in self.query(Button):
            button.active_effect_duration = 0  # no animation, during which keys would be lost
        self._show_form()
        self.query_one("#made-box").display = False
        self._offer("cancel")
        self._plan()

    def on_resize(self, event: events.Resize) -> None:
        """Limit the form's height, so that it scrolls and the buttons stay visible."""
        for name in ("#form", "#made-box"):
            self.query_one(name).styles.max_height = max(event.size.height - _AROUND, 1)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        report_bug(self, event)

    # -- planning ------------------------------------------------------------------------------

    @on(Choice.Changed)
    @on(Input.Changed)
    def _changed(self) -> None:
        if self._made is None and not self._is_forking:
            self._plan()

    def _plan(self, *, waits: bool = False) -> None:
        plan = partial(self._replan, waits=waits)
        self.run_worker(plan, group="plan", exclusive=True, exit_on_error=False)

    async def _replan(self, *, waits: bool) -> None:
        """Plan the fork; with `waits`, when the agent has finished its turn."""
        if self._planned is not None and not waits:
            await asyncio.sleep(_TYPED)
        self._put("progress", "waiting until the agent is done ..." if waits else "planning ...")
        wanted = self._wanted_now()

        def plan(forker: Forker) -> Planned:
            return forker.plan_when_idle(wanted, _PATIENCE) if waits else forker.plan(wanted)

        while True:
            try:
                planned = await self._plans.ask(_for_forker(plan))
            except Busy as error:
                if waits and self._waits:
                    continue
                if not waits:
                    self._refuse(error)
                return
            except (ProngError, OSError) as error:
                self._refuse(error)
                return
            if planned is not None:  # otherwise a newer plan was asked for
                self._show(planned, wanted)
            return

    def _wanted_now(self) -> Wanted:
        """Read the form. Fields that were not edited are left to the plan."""
        if self._planned is None:
            point, request = self._wanted
            return Wanted(point, replace(request, agent=self._value("agent") or None))
        turn, code, folder = self._value("turn"), self._value("code"), self._typed("folder")
        session = self._planned.plan.source.ref
        request = ForkRequest(
            agent=self._value("agent") or None,
            into=Path(folder) if folder else None,
            method=Method(self._value("method")),
            code=None if folder or code == self._shown.get("code") else Code(code),
            branch=None if folder or code == "none" else self._typed("branch"),
            prompt=self.query_one("#prompt", Input).value.strip() or None,
            before_compaction=self._value("history") == "full",
            count=int(self._value("count")),
        )
        return Wanted(f"{session}@{turn}" if turn else self._wanted.point, request)

    def _value(self, name: str) -> str:
        return self.query_one(f"#{name}", Choice).value

    def _typed(self, name: str) -> str | None:
        """Return what the user typed into a field; None if it is the plan's value."""
        text = self.query_one(f"#{name}", Input).value.strip()
        return text if text and text != self._shown.get(name) else None

    def _show(self, planned: Planned, wanted: Wanted) -> None:
        is_first = self._planned is None
        self._planned, self._wanted = planned, wanted
        self._show_form()
        plan = planned.plan
        source = plan.source
        facts = [str(source.ref), source.model or "", source.branch or ""]
        self._put("source", clean("  ".join(filter(None, facts))))
        turns = [(id_, cut(text, _LONGEST_TURN)) for id_, text in planned.turns]
        self.query_one("#turn", Choice).offer(turns, plan.point.turn_id or "0")
        self._offer_agents(plan.agent)
        self.query_one("#history-field").display = planned.has_compactions
        self._put("code-told", clean(planned.code))
        if is_first:
            run: Run = "pane" if planned.has_panes else "here"
            self.query_one("#run", Choice).choose(run)
        if wanted.request.code is None:
            # Select what fits best until the user chooses.
            self.query_one("#code", Choice).choose(plan.code.value)
            self._shown["code"] = plan.code.value
        self._fill("folder", short_path(str(plan.workspace)))
        self._fill("branch", plan.worktree.branch if plan.worktree else "")
        self.query_one("#branch", Input).disabled = plan.worktree is None
        self._put("size", _gauge(plan.tokens, plan.window, planned.level))
        self._put("command", planned.command)
        warnings = [("warning", f"! {in_the_form(clean(warning))}") for warning in plan.warnings]
        self._put("notes", _content(warnings))
        self._waits = False
        self._offer("fork", "cancel")
        if is_first:
            self.query_one("#fork", Button).focus()
        # Read the form again: the fork must match what is shown.
        self._wanted = self._wanted_now()
        self._put("progress", "")

    def _show_form(self) -> None:
        """Show the fields only if there is a plan to fill them."""
        for field in self.query(Field):
            field.display = self._planned is not None

    def _offer_agents(self, agent: str | None) -> None:
        agents = [(name, name) for name in self._agents]
        self.query_one("#agent", Choice).offer(agents, agent)

    def _fill(self, name: str, text: str) -> None:
        """Write the plan's value into a field, unless it is edited or being edited."""
        field = self.query_one(f"#{name}", Input)
        is_untouched = field.value == self._shown.get(name)
        if self._typed(name) is not None or (field.has_focus and not is_untouched):
            return
        with field.prevent(Input.Changed):
            field.value = text
        self._shown[name] = text

    def _refuse(self, error: ProngError | OSError) -> None:
        """Show why the fork is not possible now, or at all."""
        self._show_form()
        if self._planned is None and isinstance(error, Unavailable):
            # Another agent may be installed.
            point, request = self._wanted
            self._offer_agents(request.agent or point.partition(":")[0])
            self.query_one("#agent-field").display = True
        hint = error.hint if isinstance(error, ProngError) else None
        notes = [("failed", _message(error))]
        if hint and not isinstance(error, Busy):
            notes.append(("dim", f"try: {in_the_form(clean(hint))}"))
        self._put("notes", _content(notes))
        self._put("progress", "")
        self._waits = False
        self._offer("cancel", *(["wait"] if isinstance(error, Busy) else []))
        if isinstance(error, Busy):
            self.query_one("#wait", Button).focus()

    # -- waiting -------------------------------------------------------------------------------

    @on(Button.Pressed, "#wait")
    def action_wait(self) -> None:
        if self.query_one("#wait", Button).display and not self._waits:
            self._waits = True
            self._offer("cancel")
            self._plan(waits=True)

    # -- forking -------------------------------------------------------------------------------

    @on(Input.Submitted)
    @on(Button.Pressed, "#fork")
    def action_agree(self) -> None:
        if self._planned is None or self._is_forking or self._made is not None:
            return
        if self.query_one("#fork", Button).display:
            self._is_forking = True
            # A plan that arrives now would replace the result.
            self.workers.cancel_group(self, "plan")  # pyright: ignore[reportUnknownMemberType]
            self._plans.drop()
            self.query_one("#form").disabled = True
            self._offer()
            self.run_worker(self._fork, group="fork", exit_on_error=False)

    async def _fork(self) -> None:
        run = cast(Run, self._value("run"))
        self._seconds = 0
        self._is_to_be_left = False
        timer = self.set_interval(1.0, partial(self._say_how_long, 1))
        self._put("progress", "forking ...")
        try:
            result = await self._forked(run)
        except (ProngError, OSError) as error:
            self._refuse(error)
            if not isinstance(error, Busy):
                self._offer("fork", "cancel")
            return
        except BaseException:
            self._offer("fork", "cancel")
            raise
        finally:
            timer.stop()
            self._is_forking = False
            self.query_one("#form").disabled = False
            self._put("progress", "")
        if result is not None:
            self._made = result
            await self._tell(result, run)

    async def _forked(self, run: Run) -> NewFork | None:
        """Create the fork; None if an updated plan has new warnings to read first."""
        planned, wanted = self._planned, self._wanted_now()
        assert planned is not None
        if wanted != self._wanted:
            # The form was edited after the last plan.
            updated = await self._do(lambda forker: forker.plan(wanted))
            self._show(updated, wanted)
            if updated.plan.warnings != planned.plan.warnings:
                return None
            self._offer()
            planned = updated
        plan = planned.plan
        return await self._do(lambda forker: forker.make(plan, wanted.request, run))

    def _do(self, act: Callable[[Forker], T]) -> Awaitable[T]:
        return self._lanes.forking.do(_for_forker(act))

    def _say_how_long(self, more: int = 0) -> None:
        self._seconds += more
        progress = f"forking ... {self._seconds} s"
        self._put(
            "progress", f"{progress}; it is finished first" if self._is_to_be_left else progress
        )

    async def _tell(self, made: NewFork, run: Run) -> None:
        if run == "here" and made.launch is not None:
            self.answer(Next("run", made.forks[0], launch=made.launch))
            return
        self.query_one("#form").display = False
        self.query_one("#made-box").display = True
        self._put("made", _content(outcome(made)))
        self.query_one("#cancel", Button).label = "Close"
        actions = ["attach"] if made.workers else ["run-here"] if made.launch else []
        self._offer(*actions, "turns", "cancel")
        self.query_one(f"#{(*actions, 'turns')[0]}", Button).focus()
        self._put("progress", "")
        if made.workers:
            await self._see_start(made.workers[0])

    async def _see_start(self, name: str) -> None:
        self._put("progress", f"{name} starts ...")
        # A lane of its own, so that worker statuses are still refreshed.
        lane = self._lanes.aside("start", finishes=False)
        try:
            status = await lane.do(_for_forker(lambda forker: forker.ready(name)))
        except (ProngError, OSError) as error:
            self._put("progress", _message(error))
            return
        finally:
            lane.close()
        request = f" ({status.evidence.detail})" if status.evidence.detail else ""
        self._put("progress", f"{name} is {status.state.value}{clean(request)}")

    # -- leaving -------------------------------------------------------------------------------

    @on(Button.Pressed, "#cancel")
    def action_leave(self) -> None:
        if self._is_forking:
            self._is_to_be_left = True
            self._say_how_long()
            return
        self._waits = False
        self.answer(None)

    @on(Button.Pressed, "#attach, #run-here, #turns")
    def _leave_with(self, event: Button.Pressed) -> None:
        made = self._made
        assert made is not None
        wish = cast(After, "run" if event.button.id == "run-here" else event.button.id)
        worker = made.workers[0] if made.workers else None
        self.answer(Next(wish, made.forks[0], worker, made.launch))

    # -- telling -------------------------------------------------------------------------------

    def _put(self, name: str, content: str | Content) -> None:
        self.query_one(f"#{name}", Static).update(content)

    def _offer(self, *names: str) -> None:
        """Show only these buttons."""
        for button in self.query("#buttons Button").results(Button):
            button.display = button.id in names


def _content(lines: list[tuple[str, str]]) -> Content:
    return Content("\n").join(Content.styled(text, _STYLES.get(style, "")) for style, text in lines)


def _message(error: ProngError | OSError) -> str:
    return clean(error.message if isinstance(error, ProngError) else str(error))


def _gauge(tokens: int, window: int | None, level: BudgetLevel) -> Content:
    """Draw how much of the model's window a fork uses."""
    size = f"about {tokens:,} tokens" if tokens != 1 else counted(tokens, "token")
    if window is None:
        return Content(f"{size}; the model's window is unknown")
    share = tokens / window
    filled = min(round(share * _BAR), _BAR)
    style, words = _LEVELS[level]
    return Content.assemble(
        ("█" * filled, style),
        ("░" * (_BAR - filled), "$text-disabled"),
        f" {share:.0%}  {size} of {window:,}",
        (words, style),
    )


def _for_forker(act: Callable[[Forker], T]) -> Callable[[App], T]:
    """Give the services of a lane to a call."""
    return lambda app: act(
        Forker(app.sessions, app.forks, app.code, app.workers, app.terminals, app.setup.hooks)
    )
