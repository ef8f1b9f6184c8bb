"""Forks of the messy sessions, resumed by the real agents, and what then reaches the model.

A `Bench` forks a scenario's session into another folder; a `Case` is such a fork and what the model
must get from it; `judge` holds that against what was sent. What may differ is a `Normalisation`,
each explained there and used only where its reason is given.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4

from prong.agents.base import AgentStore
from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.fork.copy import uuid7
from prong.agents.codex.store import CodexStore
from prong.app import App
from prong.forks.request import ForkRequest
from prong.model.forks import Fork, Method
from prong.model.record import replace
from prong.model.sessions import Turn, TurnKind
from prong.testing.anthropic import FakeAnthropic
from prong.testing.home import IsolatedHome
from prong.testing.openai import FakeOpenAI
from prong.testing.server import FakeModelServer, Request, RequestKind
from prong.testing.wait import PATIENCE
from tests.drivers.claude_cli import ClaudeCli, read_lines
from tests.drivers.codex_cli import CodexCli, native_program
from tests.drivers.programs import find_program
from tests.drivers.requests import Item
from tests.e2e.fidelity.native import NO_RESPONSE, Native, ended
from tests.e2e.labs.cache import WORKERS
from tests.e2e.scenario import PROBE, Scenario


class Normalisation(StrEnum):
    """What may differ between a fork and the native conversation. Nothing else may."""

    UNANSWERED = "what the agent says for the model when the history ends without an answer"
    """A turn that was interrupted, or a summary as the last thing: Claude Code resumes it with
    `No response requested.`, and Codex's own fork of a turn without an end says that it was
    aborted. Natively the next prompt came while the program still ran, so it had no reason to."""
    PATHS = "the paths of tool results"
    """What was too long for a result is a file beside the session; the fork has its own copy."""
    NOTIFICATION = "the end of a background agent"
    """It reports back in a later turn. The resumed fork has no such agent and may say it failed."""
    NOTICE = "the notice that a sub-agent of Codex ended, behind the last turn"
    """It is written when the child ends, before or behind the line that begins the next turn. Only
    what stands before that line is copied."""


@dataclass(frozen=True)
class Case:
    """A fork that was made, and what the model must get when it is run."""

    what: str
    turn: Turn | None
    """The last turn of the fork; None when it is empty."""
    fork: Fork
    history: list[Item]
    prompt: list[Item] = field(default_factory=lambda: [Item("user", PROBE)])


@dataclass(frozen=True)
class Verdict:
    """What came of a case."""

    what: str
    expected: list[Item]
    sent: list[Item]
    used: tuple[Normalisation, ...] = ()
    leaked: tuple[str, ...] = ()
    """Prompts of later turns that stand in the fork's file, sent or not."""

    @property
    def is_faithful(self) -> bool:
        return self.expected == self.sent and not self.leaked

    def __str__(self) -> str:
        lines = [self.what, "  expected:", *map(_short, self.expected)]
        lines += ["  sent:", *map(_short, self.sent)]
        return "\n".join([*lines, *(f"  leaked: {prompt!r}" for prompt in self.leaked)])


def _short(item: Item) -> str:
    return f"    {item.role} {item.name} {item.id} {item.text[:200]!r}"


class Bench(ABC):
    """A home with a scenario's session and a running fake model, to fork and to resume in."""

    def __init__(
        self, scenario: Scenario, home: IsolatedHome, store: AgentStore, server: FakeModelServer
    ) -> None:
        self.scenario = scenario
        self.home = home
        self.store = store
        self.server = server
        # Whether the programs can be started is seen when they are.
        self.app = App(stores={store.name: store}, remember=False, needs_programs=False)
        path = store.roots[0] / scenario.path.relative_to(scenario.root)
        session = store.session_at(path)
        assert session is not None
        assert session.id == scenario.session_id
        self.session = session
        self.native = Native(scenario, store.conversation(session))
        self.elsewhere = home.project("forks")
        self._before = self._hashes()

    def __enter__(self) -> Self:
        self.server.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.app.close()
        self.server.close()

    def is_source_untouched(self) -> bool:
        """True when every file that was there at the beginning has the same bytes now."""
        now = self._hashes()
        return all(now.get(path) == digest for path, digest in self._before.items())

    def _hashes(self) -> dict[Path, str]:
        # All that lies in the folders of sessions, which are the folders of the copied root.
        kept = (path.relative_to(self.scenario.root) for path in self.scenario.root.glob("*/**/*"))
        files = [self.store.roots[0] / path for path in kept]
        return {
            path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files if path.is_file()
        }

    # -- forks --------------------------------------------------------------------------------

    def fork(self, turn: Turn, options: ForkRequest | None = None) -> Fork:
        """Fork the session at a turn into another folder, with the probe as first prompt."""
        options = options or ForkRequest()
        options = replace(options, into=self.elsewhere)
        if not options.retry:
            options = replace(options, prompt=PROBE)
        return self.app.forks.make(self.app.forks.plan(f"{self.session.ref}@{turn.id}", options))

    def at_every_turn(self, *, written: bool = False) -> Iterator[Case]:
        """A fork at every turn, abandoned ones too.

        With `written`, prong writes the file also where the agent's own program would.
        """
        for turn in self.native.turns:
            fork = self.fork(turn, ForkRequest(id=self.new_id()) if written else None)
            yield Case(f"at {self.named(turn)}", turn, fork, self.history(turn))

    def before_compaction(self) -> Iterator[Case]:
        """A fork in full words at every turn that has a summary behind it."""
        for turn in filter(self.native.is_summarised, self.native.turns):
            fork = self.fork(turn, ForkRequest(before_compaction=True))
            history = self.native.until_in_full(turn)
            yield Case(f"in full at {self.named(turn)}", turn, fork, history)

    def at(self, turn: Turn) -> Case:
        """A fork at one turn."""
        return Case(f"at {self.named(turn)}", turn, self.fork(turn), self.history(turn))

    def native_at_the_end(self) -> Case:
        """The agent's own fork of the whole session, with what was done behind the last turn."""
        last = self.native.conversation.turns[-1]
        fork = self.fork(last, ForkRequest(method=Method.NATIVE))
        return Case(f"native at {self.named(last)}", last, fork, self.native.resumed)

    def retry(self, turn: Turn) -> Case:
        """A fork before a turn, in which the turn's prompt is asked again."""
        before = self.native.before(turn)
        return Case(
            f"retry of {self.named(turn)}",
            before,
            self.fork(turn, ForkRequest(retry=True)),
            self.history(before) if before else [],
            self.native.prompt(turn),
        )

    def retry_of_every_prompt(self) -> Iterator[Case]:
        """A retry of every turn whose prompt can be asked again."""
        return map(self.retry, self.retryable())

    def retryable(self) -> list[Turn]:
        """The active turns, but for those that bash mode or a sub-agent opened."""
        return [
            turn
            for turn in self.native.conversation.turns
            if turn.kind is not TurnKind.NOTIFICATION and not turn.prompt.startswith("!")
        ]

    def named(self, turn: Turn) -> str:
        number = turn.index if turn.index is not None else f"the abandoned {turn.prompt!r}"
        return f"turn {number} of {self.scenario.agent} {self.scenario.name}"

    def history(self, turn: Turn) -> list[Item]:
        """What the model must get from a fork at a turn."""
        return self.native.until(turn)

    @abstractmethod
    def new_id(self) -> str:
        """An id of the agent's kind."""

    # -- what they send -------------------------------------------------------------------------

    def verdicts(self, cases: Iterable[Case]) -> list[Verdict]:
        """Run the forks, several at a time; the next one is made meanwhile."""
        with ThreadPoolExecutor(WORKERS) as pool:
            started = [pool.submit(self.verdict, case) for case in cases]
        return [verdict.result() for verdict in started]

    def verdict(self, case: Case) -> Verdict:
        """Run a fork with its first prompt, without a terminal."""
        self.run(case.fork)
        return judge(self, case, self.sent_by(case.fork.child.id))

    @abstractmethod
    def run(self, fork: Fork) -> None:
        """The first turn of a fork, headless."""

    def sent_by(self, session_id: str) -> list[Item]:
        """What the model got first from a session."""
        first, *_ = requests = self.requests_of(session_id)
        items = self.native.items(
            next(one for one in requests if one.kind is RequestKind.MAIN).body
        )
        if first.kind is RequestKind.MAIN:
            return items
        # The fork's last answer said that the window was full, so its history was summarised
        # before the prompt was sent. Answers that stand behind the summary were left out of it
        # before 2.1.326.
        history = self.native.items(first.body)[:-1]
        kept = [item for item in items[:-1] if item.role != "user"]
        summarised = history[len(history) - len(kept) :] == kept
        return [*history, *([] if summarised else kept), items[-1]]

    def leaked(self, case: Case) -> Iterator[str]:
        """The prompts of later turns that a fork's file names, in whatever kind of line."""
        if case.fork.path is None or case.turn is None or case.turn.index is None:
            return
        written = case.fork.path.read_bytes()
        said = [item.text for item in [*case.history, *case.prompt]]
        for turn in self.native.conversation.turns[case.turn.index :]:
            prompt = json.dumps(turn.prompt, ensure_ascii=False).encode()
            if prompt in written and not any(turn.prompt in text for text in said):
                yield turn.prompt

    def requests_of(self, session_id: str) -> list[Request]:
        """The requests of a session's conversation. The agents say in a header who is asking."""
        return [
            request
            for request in self.server.requests()
            if request.kind in (RequestKind.MAIN, RequestKind.COMPACT)
            and session_id in request.headers.values()
        ]


class ClaudeBench(Bench):
    """The home in which the scenario was built: sessions name absolute paths below it."""

    def __init__(self, scenario: Scenario) -> None:
        home = IsolatedHome.create(scenario.root.parent / "home")
        shutil.rmtree(home.claude / "projects")
        shutil.copytree(scenario.root / "projects", home.claude / "projects")
        server = FakeAnthropic()
        self.cli = ClaudeCli(home, server.url)
        super().__init__(scenario, home, ClaudeStore([home.claude]), server)
        self._resumed: dict[str, list[Item]] = {}

    def new_id(self) -> str:
        return str(uuid4())

    def history(self, turn: Turn) -> list[Item]:
        resumed = self._resumed_at(turn) if self.native.depends_on_resume(turn) else None
        return self.native.until(turn) if resumed is None else ended(resumed)

    def _resumed_at(self, turn: Turn) -> list[Item] | None:
        """What Claude Code sends when it resumes the session at a turn; None where it cannot.

        It resumes at a line of the active conversation that no compaction stands behind. For the
        last turn there is no need to: the whole session was resumed when it was built.
        """
        if turn.index is None or self.native.is_last(turn) or self._is_summarised_later(turn):
            return None
        if turn.id not in self._resumed:
            at = ["--resume-session-at", self._last_line(turn)]
            run = self.cli.run(
                PROBE,
                self.scenario.cwd,
                resume=self.session.id,
                fork=True,
                persist=False,
                arguments=at,
            )
            assert run.code == 0, (at, run.stderr)
            self._resumed[turn.id] = self.sent_by(run.session_id)[:-1]
        return self._resumed[turn.id]

    def _is_summarised_later(self, turn: Turn) -> bool:
        compactions = self.native.conversation.compactions
        return turn.index is not None and any(number >= turn.index for number in compactions)

    def _last_line(self, turn: Turn) -> str:
        """The last line of a turn that is a message: that before the next prompt."""
        lines = {line["uuid"]: line for line in read_lines(self.session.path) if "uuid" in line}
        assert turn.index is not None
        line = lines[self.native.conversation.turns[turn.index].id]
        while True:
            line = lines[line["parentUuid"]]
            items = self.native.items({"messages": [line.get("message", {})]})
            if ended(items):
                return str(line["uuid"])

    def run(self, fork: Fork) -> None:
        assert fork.launch is not None
        headless = ["-p", "--output-format", "json", "--dangerously-skip-permissions"]
        # A native fork writes its file now; any other has one, which need not grow.
        kept = [] if fork.method is Method.NATIVE else ["--no-session-persistence"]
        done = subprocess.run(
            [str(self.cli.program), *headless, *kept, *fork.launch.argv[1:]],
            cwd=fork.launch.cwd,
            env=self.cli.env(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, (fork.launch.argv, done.stdout, done.stderr)


class CodexBench(Bench):
    """A home of its own, without Codex's databases: they name the files of the first one."""

    def __init__(self, scenario: Scenario) -> None:
        folder = scenario.root.parent / "forks"
        shutil.rmtree(folder, ignore_errors=True)
        home = IsolatedHome.create(folder)
        shutil.copytree(scenario.root, home.codex, dirs_exist_ok=True)
        server = FakeOpenAI()
        self.cli = CodexCli(home, server.url)
        super().__init__(scenario, home, CodexStore([home.codex]), server)
        self.cli.trust(self.elsewhere)

    def new_id(self) -> str:
        return uuid7()

    def run(self, fork: Fork) -> None:
        assert fork.launch is not None
        # Its own command opens the terminal UI; the prompt is its last word.
        done = self.cli.resume(fork.child.id, fork.launch.argv[-1], self.elsewhere)
        assert (done.code, done.thread_id) == (0, fork.child.id), (done.events, done.stderr)


def bench_of(scenario: Scenario) -> Bench:
    """The bench of the scenario's agent."""
    return ClaudeBench(scenario) if scenario.agent == "claude" else CodexBench(scenario)


def path_with_codex() -> str:
    """A PATH on which Codex is found: it makes forks itself when it is there."""
    codex = native_program(find_program("codex", "PRONG_TEST_CODEX"))
    return os.pathsep.join([str(codex.parent), os.environ["PATH"]])


# -- comparing -----------------------------------------------------------------------------------

Histories = tuple[list[Item], list[Item]]
"""What is expected, and what was sent."""
Normalise = Callable[[list[Item], list[Item]], Histories]


def judge(bench: Bench, case: Case, sent: list[Item]) -> Verdict:
    """Compare, with no more normalisations than are needed."""
    behind = len(case.prompt)
    expected, history = case.history, sent[:-behind]
    used: list[Normalisation] = []
    for normalisation, normalise in _normalisations(bench, case):
        if expected == history:
            break
        changed = normalise(expected, history)
        if changed != (expected, history):
            used.append(normalisation)
            expected, history = changed
    return Verdict(
        case.what,
        [*expected, *case.prompt],
        [*history, *sent[-behind:]],
        tuple(used),
        tuple(bench.leaked(case)),
    )


def _normalisations(bench: Bench, case: Case) -> Iterator[tuple[Normalisation, Normalise]]:
    """Those that have a reason in this case."""
    own = case.fork.path.with_suffix("") if case.fork.path else None
    if own and own.is_dir():
        source = bench.session.path.with_suffix("")
        yield Normalisation.PATHS, partial(_moved_back, old=f"{own}/", new=f"{source}/")
    if case.history and case.history[-1].role in ("user", "result"):
        yield Normalisation.UNANSWERED, _without_words_for_the_model
    later = bench.native.conversation.turns[case.turn.index or 0 :] if case.turn else ()
    if any(turn.kind is TurnKind.NOTIFICATION for turn in later):
        yield Normalisation.NOTIFICATION, _without_notices
    if any(item.name == "multi_agent_v1/spawn_agent" for item in case.history):
        yield Normalisation.NOTICE, _without_late_notice


def _moved_back(expected: list[Item], sent: list[Item], *, old: str, new: str) -> Histories:
    return expected, [replace(item, text=item.text.replace(old, new)) for item in sent]


def _without_words_for_the_model(expected: list[Item], sent: list[Item]) -> Histories:
    said = sent[-1:] == [NO_RESPONSE] or (
        sent[-1:] != expected[-1:] and sent[-1].text.startswith("<turn_aborted>")
    )
    return expected, sent[:-1] if said else sent


def _without_notices(expected: list[Item], sent: list[Item]) -> Histories:
    return expected, [
        item for item in sent if item in expected or not item.text.startswith("<task-notification>")
    ]


def _without_late_notice(expected: list[Item], sent: list[Item]) -> Histories:
    return _until_notice(expected), _until_notice(sent)


def _until_notice(items: list[Item]) -> list[Item]:
    late = bool(items) and items[-1].text.startswith("<subagent_notification>")
    return items[:-1] if late else items
