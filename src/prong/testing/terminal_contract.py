"""Contract tests for terminals, built in or from a plug-in.

    class TestMyTerminal(TerminalContract):
        capabilities = frozenset({CanSend, CanCapture})

        @pytest.fixture
        def terminal(self):
            return MyTerminal(os.environ)

Class attributes declare what a terminal cannot do; that is tested too, so no test is skipped. Use
`LaunchContract` for terminals that open no panes.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest

from prong import paths
from prong.errors import ProngError, UsageError
from prong.model.forks import Launch
from prong.model.workers import LivePane, Pane, Placement
from prong.terminals.base import (
    CanAttach,
    CanCapture,
    CanFocus,
    CanPress,
    CanSend,
    HasExitCodes,
    Terminal,
)
from prong.testing.wait import wait_until

ALL = (CanSend, CanPress, CanCapture, HasExitCodes, CanFocus, CanAttach)
ODD_WORDS = [
    "",
    " two  words ",
    "one\nand\n\nanother line\n",
    "\ttab\r",
    'it\'s "quoted" `twice`',
    ";$(touch pwned); rm -rf x && : | y > z",
    "ends with;",
    ";",
    "\\",
    "#{pane_id} #(touch pwned) ##",
    "%3 %s %% =x:y.0 {last} @1 ~ *",
    "--",
    "-x",
    "--title=x",
    "$HOME ${HOME}",
    "\x1b[31mred\x07",
    "会話 \U0001f600 é \u2028",
    "not UTF-8: \udcff",
]
ODD_NAMES = ["a b;c", 'it\'s "odd" #{pane_id} #(touch pwned) $(x) `y`;', "会話 %20 \\"]
ODD_VALUES = {
    "PRONG_TEST_SPACES": " two  words ",
    "PRONG_TEST_QUOTES": 'it\'s "quoted" \\ `x` $(y) ;',
    "PRONG_TEST_LINES": "one\ntwo\n",
    "PRONG_TEST_EQUALS": "a=b=c #{pane_id}",
    "PRONG_TEST_EMPTY": "",
    "PRONG_TEST_LONG": "v" * 100_000,
    "PRONG_WORKER": "calm-otter",
}
FOREIGN = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID")
LONGEST = 131_071
"""The longest argument in bytes that Linux accepts."""
_PROBE = Path(__file__).with_name("terminal_probe.py")


class Probe:
    """A program in a pane that reports its arguments, environment and input."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / f"probe-{uuid.uuid4().hex}"
        self.pane = Pane("none", "none")

    def launch(self, mode: str, words: tuple[str, ...] = (), **more: Any) -> Launch:
        argv = (sys.executable, "-I", "-S", str(_PROBE), str(self.file), mode, *words)
        fields: dict[str, Any] = {"cwd": self.file.parent, "title": "a probe", **more}
        return Launch(argv, **fields)

    def told(self) -> Mapping[str, Any]:
        """Wait until the program runs, and return its report."""
        wait_until(self.file.exists, what="the program in the pane")
        return json.loads(self.file.read_text(encoding="ascii"))

    def read(self) -> bytes:
        """Return the input received so far."""
        return self.file.with_name(f"{self.file.name}.read").read_bytes()

    def wait_read(self, wanted: bytes) -> None:
        """Wait until exactly this input has arrived."""
        with suppress(TimeoutError):  # the assertion has more detail
            wait_until(lambda: len(self.read()) >= len(wanted), what=f"{len(wanted)} bytes")
        received = self.read()
        assert len(received) == len(wanted)
        assert received == wanted


class LaunchContract:
    """Requirements for starting programs: arguments and environment arrive unchanged."""

    @pytest.fixture
    def terminal(self) -> Terminal:
        raise NotImplementedError("give the terminal")

    def start(self, terminal: Terminal, launch: Launch) -> Pane:
        """Start the program; override this for another way to start it."""
        return terminal.open(launch, Placement.TAB)

    @pytest.fixture
    def run(self, terminal: Terminal, tmp_path: Path) -> Iterator[Callable[..., Probe]]:
        """Start a probe, and close its pane at the end of the test."""
        probes: list[Probe] = []

        def run(mode: str, *words: str, **more: Any) -> Probe:
            probe = Probe(tmp_path)
            probe.pane = self.start(terminal, probe.launch(mode, words, **more))
            probes.append(probe)
            return probe

        yield run
        for probe in probes:
            terminal.close(probe.pane)

    def test_it_has_a_name(self, terminal: Terminal) -> None:
        assert terminal.name.isidentifier()
        assert terminal.problem() is None

    def test_words_arrive_as_they_are(self, run: Callable[..., Probe]) -> None:
        assert run("end0", *ODD_WORDS).told()["argv"] == ODD_WORDS

    def test_long_words_arrive_whole(self, run: Callable[..., Probe]) -> None:
        words = [letter * LONGEST for letter in "abcd"]
        assert run("end0", *words).told()["argv"] == words

    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_the_folder_is_the_one(
        self, name: str, run: Callable[..., Probe], tmp_path: Path
    ) -> None:
        folder = tmp_path / name
        folder.mkdir()
        assert run("end0", cwd=folder).told()["cwd"] == str(folder)
        assert not list(tmp_path.rglob("pwned"))

    def test_variables_arrive_as_they_are(self, run: Callable[..., Probe]) -> None:
        env = run("end0", env=ODD_VALUES).told()["env"]
        assert {name: env.get(name) for name in ODD_VALUES} == ODD_VALUES

    def test_nothing_of_an_agent_around_it_arrives(self, run: Callable[..., Probe]) -> None:
        received = run("end0", env={"CLAUDECODE": "1", "CLAUDE_CONFIG_DIR": "/x"}).told()["env"]
        assert not [name for name in FOREIGN if name in received]
        assert received["CLAUDE_CONFIG_DIR"] == "/x"

    def test_no_panes_no_question(self, terminal: Terminal) -> None:
        assert terminal.alive([]) == {}

    def test_a_pane_that_never_was(self, terminal: Terminal, tmp_path: Path) -> None:
        stranger = Pane(terminal.name, "%99999", str(tmp_path / "no-socket"))
        assert terminal.alive([stranger]) == {}


class TerminalContract(LaunchContract):
    """Requirements for terminals that open panes."""

    capabilities: ClassVar[frozenset[type]] = frozenset()
    """The members of `ALL` that it has."""
    tells_pids: ClassVar[bool] = True
    brackets: ClassVar[bool] = True
    """It marks pasted text for programs that request it."""

    def test_it_has_the_capabilities_that_are_told(self, terminal: Terminal) -> None:
        assert {kind for kind in ALL if isinstance(terminal, kind)} == self.capabilities

    @pytest.mark.parametrize("place", list(Placement))
    @pytest.mark.parametrize("title", ["a.b:c #(touch pwned) 'x';", "", "\x1b]0;x\x07 \n 会話"])
    def test_every_place_and_title(
        self, place: Placement, title: str, terminal: Terminal, tmp_path: Path
    ) -> None:
        probe = Probe(tmp_path)
        pane = terminal.open(probe.launch("stay", ("x",), title=title), place)
        try:
            assert probe.told()["argv"] == ["x"]
            assert pane.terminal == terminal.name
            assert pane.id
            assert pane in terminal.alive([pane])
        finally:
            terminal.close(pane)
        assert not list(tmp_path.rglob("pwned"))

    def test_what_lives_and_what_does_not(
        self, terminal: Terminal, run: Callable[..., Probe]
    ) -> None:
        first, second, ended = run("stay"), run("stay"), run("end0")
        assert len({probe.pane for probe in (first, second, ended)}) == 3
        pids = {probe.pane: LivePane(probe.told()["pid"]) for probe in (first, second)}
        ended.told()
        wait_until(lambda: ended.pane not in terminal.alive([ended.pane]), what="the end of it")
        living = terminal.alive([first.pane, second.pane, ended.pane])
        if self.tells_pids:
            assert living == pids
        else:
            assert living == dict.fromkeys(pids, LivePane())

    def test_closing_takes_one_pane_away(
        self, terminal: Terminal, run: Callable[..., Probe]
    ) -> None:
        first, second = run("stay"), run("stay")
        first.told()
        second.told()
        terminal.close(first.pane)
        wait_until(lambda: first.pane not in terminal.alive([first.pane]), what="the end of it")
        assert second.pane in terminal.alive([first.pane, second.pane])
        terminal.close(first.pane)  # closing it again is harmless

    def test_a_program_that_is_not_there(
        self, terminal: Terminal, tmp_path: Path, run: Callable[..., Probe]
    ) -> None:
        run("stay").told()  # some terminals end with their last pane
        pane = terminal.open(Launch(("no-such-program",), tmp_path), Placement.TAB)
        wait_until(lambda: pane not in terminal.alive([pane]), what="its end")
        if isinstance(terminal, HasExitCodes):
            assert terminal.exit_code(pane) == 127
        terminal.close(pane)

    def test_nothing_is_left_of_what_was_handed_over(
        self, terminal: Terminal, run: Callable[..., Probe]
    ) -> None:
        run("end0", env={"PRONG_TEST_KEY": "secret"}).told()
        assert list((paths.state_dir() / "launches").iterdir()) == []

    def test_what_a_program_cannot_take(self, terminal: Terminal, tmp_path: Path) -> None:
        with pytest.raises(UsageError):
            terminal.open(Launch(("a\0b",), tmp_path), Placement.TAB)

    # -- optional capabilities -------------------------------------------------------------------

    @pytest.mark.parametrize(
        "text",
        [
            "",
            'it\'s "quoted"; $(touch pwned) #{pane_id} \\ %s',
            "-l",
            "one\ntwo\n\n",
            "会話 \U0001f600 é",
            "0123456789abcde\n" * 25_000,
            "日本語の長い文" * 1000,
        ],
        ids=["empty", "shell", "flag", "lines", "unicode", "400 KB", "multibyte"],
    )
    def test_text_arrives_as_it_is(
        self, text: str, terminal: Terminal, run: Callable[..., Probe]
    ) -> None:
        if isinstance(terminal, CanSend):
            probe = run("read")
            probe.told()
            terminal.send(probe.pane, text)
            terminal.send(probe.pane, "|end")
            probe.wait_read(f"{text}|end".encode())

    def test_a_paste_is_marked_for_programs_that_ask(
        self, terminal: Terminal, run: Callable[..., Probe]
    ) -> None:
        if isinstance(terminal, CanSend) and self.brackets:
            probe = run("paste")
            probe.told()
            terminal.send(probe.pane, "one\ntwo\x1b[20\x1b[201~1~\r!")
            probe.wait_read(b"\x1b[200~one\ntwo\r!\x1b[201~")

    def test_keys_are_pressed(self, terminal: Terminal, run: Callable[..., Probe]) -> None:
        if isinstance(terminal, CanPress):
            probe = run("read")
            probe.told()
            terminal.key(probe.pane, "Enter", "Escape", "C-c", "Up", "a", ";", "é", "Tab")
            probe.wait_read("\r\x1b\x03\x1b[Aa;é\t".encode())
            with pytest.raises(UsageError):
                terminal.key(probe.pane, "NoSuchKey")

    def test_the_screen_is_read(self, terminal: Terminal, run: Callable[..., Probe]) -> None:
        if isinstance(terminal, CanCapture):
            lines = [f"line {number} 会話" for number in range(200)]
            probe = run("print", *lines)
            probe.told()
            capture = terminal.capture
            wait_until(lambda: lines[-1] in capture(probe.pane), what="the last line")
            assert lines[0] not in capture(probe.pane)
            everything = capture(probe.pane, history=True).split("\n")
            assert [line for line in everything if line.startswith("line")] == lines

    @pytest.mark.parametrize("status", [0, 7])
    def test_how_it_ended_is_told(
        self, status: int, terminal: Terminal, run: Callable[..., Probe]
    ) -> None:
        if isinstance(terminal, HasExitCodes):
            living, ended = run("stay"), run(f"end{status}")
            living.told()
            wait_until(lambda: terminal.exit_code(ended.pane) == status, what="its status")
            assert ended.pane not in terminal.alive([ended.pane])
            assert terminal.exit_code(living.pane) is None
            terminal.close(ended.pane)
            assert terminal.exit_code(ended.pane) is None

    def test_a_pane_can_be_brought_forward(
        self, terminal: Terminal, run: Callable[..., Probe]
    ) -> None:
        if isinstance(terminal, CanFocus) and terminal.is_here:
            probe = run("stay")
            probe.told()
            terminal.focus(probe.pane)
            assert probe.pane in terminal.alive([probe.pane])

    def test_a_command_shows_the_pane(self, terminal: Terminal, run: Callable[..., Probe]) -> None:
        if isinstance(terminal, CanAttach):
            assert terminal.attaching(run("stay").pane).argv

    def test_a_pane_that_is_gone_is_a_clean_error(
        self, terminal: Terminal, run: Callable[..., Probe]
    ) -> None:
        run("stay").told()
        gone = run("stay")
        gone.told()
        terminal.close(gone.pane)
        wait_until(lambda: gone.pane not in terminal.alive([gone.pane]), what="the end of it")
        actions: list[Callable[[], object]] = []
        if isinstance(terminal, CanSend):
            actions.append(lambda: terminal.send(gone.pane, "text"))
        if isinstance(terminal, CanPress):
            actions.append(lambda: terminal.key(gone.pane, "Enter"))
        if isinstance(terminal, CanCapture):
            actions.append(lambda: terminal.capture(gone.pane))
        for action in actions:
            with pytest.raises(ProngError) as raised:
                action()
            assert raised.value.hint
