"""Picking a turn: `prong fork SESSION` on a terminal. The terminal is tmux."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.code_lab import CodeLab
from tests.cli.shell import API, PARSER, Shell, prong
from tests.cli.terminal import on_terminal
from tests.drivers.tmux import Tmux

# What the terminal was like before and after, and how it ended.
_AROUND = """
before=$(stty -g)
"$@"
echo "status $?"
test "$before" = "$(stty -g)" && echo same
read -r end
"""

Start = Callable[..., Tmux]


@pytest.fixture
def code(shop: Shell) -> CodeLab:
    return CodeLab.make(shop)


@pytest.fixture
def start(shop: Shell) -> Iterator[Start]:
    """Starts a command in a terminal of a size."""
    made: list[Tmux] = []

    def started(*words: str, size: tuple[int, int] = (80, 24), **env: str) -> Tmux:
        tmux = Tmux(shop.home.root, size)
        made.append(tmux)
        argv = ["sh", "-c", _AROUND, "sh", *prong(*words)]
        tmux.start(argv, shop.home.root, shop.env(**env))
        return tmux

    yield started
    for tmux in made:
        tmux.kill()


def forks(shell: Shell) -> int:
    return len(shell.json("list", "--all")["sessions"])


def chosen(screen: str) -> str:
    """The line that is chosen, without the mark."""
    [line] = [line for line in screen.splitlines() if line.startswith("> ")]
    return line[2:].partition("│")[0].strip()


def wait_forked(tmux: Tmux, turn: int) -> str:
    """The screen when the fork is made; what a plan warns of is agreed to."""
    screen = tmux.wait_for(lambda screen: "Fork? [Y/n]" in screen or "status" in screen)
    if "Fork?" in screen:
        tmux.key("Enter")
    screen = tmux.wait_for("same")
    assert f"forked claude:{API}@{turn} into" in screen
    assert "status 0" in screen
    return screen


def wait_chosen(tmux: Tmux, start: str) -> str:
    def is_chosen(screen: str) -> bool:
        return any(line.startswith(f"> {start:>3} ") for line in screen.splitlines())

    return tmux.wait_for(is_chosen, what=f"turn {start} chosen")


class TestKeys:
    def test_the_newest_is_chosen_and_enter_forks_there(self, code: CodeLab, start: Start) -> None:
        tmux = start("fork", API)
        wait_chosen(tmux, "4")
        tmux.key("Enter")
        wait_forked(tmux, 4)

    @pytest.mark.parametrize(
        ("keys", "turn"),
        [
            (["Up"], 3),
            (["k", "k", "Down"], 3),
            (["Home"], 1),
            (["g", "j", "C-n", "C-p"], 2),
            (["g", "G"], 4),
            (["PageUp", "PageDown", "PageUp"], 1),
            (["Home", "Up", "End", "Down"], 4),
        ],
    )
    def test_moving(self, code: CodeLab, start: Start, keys: list[str], turn: int) -> None:
        tmux = start("fork", API)
        wait_chosen(tmux, "4")
        tmux.key(*keys)
        wait_chosen(tmux, str(turn))

    def test_a_filter(self, code: CodeLab, start: Start) -> None:
        tmux = start("fork", API)
        wait_chosen(tmux, "4")
        tmux.send_text("/REDIS q")
        tmux.wait_for("no turn has these words")
        tmux.key("BSpace")
        screen = tmux.wait_for("2 of 4")
        assert "Start a Redis" in chosen(screen)
        assert "Document the limit" not in screen
        tmux.key("Up")
        wait_chosen(tmux, "2")
        tmux.key("Escape")
        screen = tmux.wait_for("Document the limit")
        assert "Keep the counters" in chosen(screen)
        tmux.send_text("/readme")
        tmux.wait_for("1 of 4")
        tmux.key("Enter")
        wait_forked(tmux, 4)

    @pytest.mark.parametrize("key", ["Escape", "q", "C-c", "C-d"])
    def test_leaving_makes_nothing(
        self, shop: Shell, code: CodeLab, start: Start, key: str
    ) -> None:
        before = forks(shop)
        tmux = start("fork", API)
        wait_chosen(tmux, "4")
        tmux.key(key)
        screen = tmux.wait_for("same")
        assert "status 130" in screen
        assert "which turn" not in screen
        assert forks(shop) == before

    def test_a_turn_to_ask_again(self, code: CodeLab, start: Start) -> None:
        tmux = start("fork", API, "--retry", EDITOR="true")
        tmux.wait_for("Edit the prompt of which turn?")
        wait_chosen(tmux, "4")
        tmux.key("Home", "Down", "Down", "Enter")
        wait_forked(tmux, 2)


class TestScreen:
    def test_a_small_one_has_the_preview_below(self, code: CodeLab, start: Start) -> None:
        tmux = start("fork", API)
        tmux.wait_for("no code captured at the turn before")
        tmux.key("Up", "Up")
        screen = tmux.wait_for("2 files changed, +2 -0")
        lines = screen.splitlines()
        assert lines[0].startswith("Fork at which turn? Rate limiting for the public API")
        assert lines[2].startswith(">   2  4h ago  +2 -0  2 files  Keep the counters in Redis")
        assert lines[5] == "─" * 80
        assert lines[6] == "Keep the counters in Redis, so that all workers share them"
        assert " limits.py         | 1 +" in lines[9]
        assert lines[23].startswith("enter fork here")
        answer = code.shell.json("show", f"{API}@2")["messages"][-1]["text"].split()[0]
        assert answer in "\n".join(lines[10:])

    def test_a_large_one_has_it_beside(self, code: CodeLab, start: Start) -> None:
        tmux = start("fork", API, size=(160, 48))
        wait_chosen(tmux, "4")
        tmux.key("Home")

        def is_drawn(screen: str) -> bool:
            beside = (" │ " in f"{line} " for line in screen.splitlines()[1:47])
            return "1 file changed, +1 -0" in screen and all(beside)

        screen = tmux.wait_for(is_drawn, what="the turn beside the list")
        left, _, right = screen.splitlines()[1].partition("│")
        assert left.startswith(">   1")
        assert right.strip().startswith("Add rate limiting to the public API")

    @pytest.mark.parametrize("size", [(40, 8), (79, 24), (20, 3)])
    def test_a_tiny_one_has_none(self, code: CodeLab, start: Start, size: tuple[int, int]) -> None:
        tmux = start("fork", API, size=size)
        screen = wait_chosen(tmux, "4")
        assert "files changed" not in screen
        assert "─" not in screen

    def test_it_grows_with_the_terminal(self, code: CodeLab, start: Start) -> None:
        tmux = start("fork", API, size=(60, 10))
        wait_chosen(tmux, "4")
        tmux.resize(130, 30)
        tmux.wait_for("│")
        tmux.key("Up")
        wait_chosen(tmux, "3")

    def test_what_stands_in_a_session_is_not_obeyed(self, shop: Shell, start: Start) -> None:
        sample = shop.session(1)
        for _ in range(2):
            sample.prompt("日本語 \x1b[2J\x1b]0;title\x07 gone\u202e\nsecond line")
            sample.answer("\x1b[31m \x9b2J answer\ttab")
        sample.write(shop.home.claude)
        tmux = start("fork", sample.id)
        screen = tmux.wait_for("answer")
        assert "日本語 ␛[2J␛]0;title␇ gone second line" in chosen(screen)

    def test_without_colours_the_chosen_one_is_seen(self, code: CodeLab, start: Start) -> None:
        wait_chosen(start("fork", API, NO_COLOR="1"), "4")

    def test_killed_it_gives_the_terminal_back(
        self, shop: Shell, code: CodeLab, start: Start
    ) -> None:
        tmux = start("fork", API)
        wait_chosen(tmux, "4")
        shell = tmux.pid()
        [prong_itself] = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
        os.kill(int(prong_itself), signal.SIGTERM)
        screen = tmux.wait_for("same")
        assert "status 143" in screen
        assert "which turn" not in screen

    def test_many_turns(self, shop: Shell, start: Start) -> None:
        sample = shop.session(1)
        for number in range(2000):
            sample.prompt(f"Prompt {number + 1}")
            sample.answer("Done.")
        sample.write(shop.home.claude)
        tmux = start("fork", sample.id)
        wait_chosen(tmux, "2000")
        tmux.key(*["PageUp"] * 20)
        tmux.send_text("/Prompt 77")
        screen = tmux.wait_for("38 of 2000")
        assert "Prompt 1779" in screen
        tmux.key("Home", "Enter")
        assert "@77 into" in tmux.wait_for("status 0")


class TestNotAsked:
    def test_one_turn_needs_no_choice(self, shop: Shell) -> None:
        shown = on_terminal(shop, "fork", shop.simple(1))
        assert (shown.status, "which turn" in shown.output) == (0, False)

    @pytest.mark.parametrize(
        "words",
        [
            ["fork", API, "--yes"],
            ["fork", API, "--json"],
            ["fork", API, "--dry-run"],
            ["fork", API, "--method", "native"],
            ["fork", f"{API}@-1", "--dry-run"],
        ],
    )
    def test_where_it_is_said_or_nothing_is_to_be_asked(
        self, shop: Shell, words: list[str]
    ) -> None:
        shown = on_terminal(shop, *words)
        assert (shown.status, "which turn" in shown.output) == (0, False)
        assert f"claude:{API}@4" in shown.output

    def test_a_terminal_that_cannot_be_drawn_on(self, shop: Shell) -> None:
        sample = shop.session(1)
        for _ in range(2):
            sample.prompt("Hello")
            sample.answer("Done.")
        sample.write(shop.home.claude)
        shown = on_terminal(shop, "fork", sample.id, TERM="dumb")
        assert f"{sample.id}@2 into" in shown.output


def choose_fzf(shell: Shell) -> None:
    folder = shell.home.root / ".config/prong"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text('[picker]\nprogram = "fzf"\n')


class TestFzf:
    @pytest.fixture(autouse=True)
    def chosen(self, shop: Shell) -> None:
        choose_fzf(shop)

    def test_it_chooses_and_shows_a_preview(self, code: CodeLab, start: Start) -> None:
        needs_fzf()
        tmux = start("fork", API)
        tmux.wait_for(lambda screen: "fork at>" in screen and "4/4" in screen)
        tmux.key("Up", "Up")
        screen = tmux.wait_for("2 files changed, +2 -0")
        assert "Fork at which turn?" in screen
        tmux.send_text("Start Redis")
        tmux.wait_for("1/4")
        tmux.key("C-u")
        tmux.wait_for("4/4")
        tmux.key("Down", "Down", "Down", "Enter")
        wait_forked(tmux, 4)

    @pytest.mark.parametrize("key", ["Escape", "C-c"])
    def test_leaving(self, shop: Shell, code: CodeLab, start: Start, key: str) -> None:
        needs_fzf()
        before = forks(shop)
        tmux = start("fork", API)
        tmux.wait_for("fork at>")
        tmux.key(key)
        tmux.wait_for("status 130")
        assert forks(shop) == before

    def test_a_name_never_reaches_a_shell(self, shop: Shell, start: Start) -> None:
        needs_fzf()
        [path] = shop.home.claude.rglob(f"{API}.jsonl")
        odd = shop.home.root / "a'b\"; touch pwned; $(touch pwned) {1}{q}.jsonl"
        odd.write_bytes(path.read_bytes())
        path.unlink()
        tmux = start("fork", str(odd))
        tmux.wait_for("Document the limit in the README")
        tmux.wait_for("no code captured")
        tmux.key("Enter")
        wait_forked(tmux, 4)
        assert not list(shop.home.root.rglob("pwned"))

    def test_where_it_is_missing_there_is_the_list(
        self, shop: Shell, start: Start, tmp_path: Path
    ) -> None:
        for program in ("git", "sh", "stty"):
            (tmp_path / program).symlink_to(shutil.which(program) or "")
        tmux = start("fork", API, PATH=f"{shop.home.root / 'bin'}:{tmp_path}")
        wait_chosen(tmux, "4")
        tmux.key("Escape")
        screen = tmux.wait_for("status 130")
        assert "fzf is not installed" in screen


@pytest.mark.parametrize("text", ["picker = 1", "[picker]\nprogram = 'dmenu'", "[picker]\nx = 1"])
def test_a_wrong_setting_is_named(shop: Shell, text: str) -> None:
    choose_fzf(shop)
    (shop.home.root / ".config/prong/config.toml").write_text(text)
    problem = shop.problem(2, "turns", API)
    assert problem["code"] == "config"
    assert "picker" in problem["message"]


def needs_fzf() -> None:
    if shutil.which("fzf") is None:
        pytest.skip("fzf is not installed")


def test_a_preview_by_itself(shop: Shell) -> None:
    CodeLab.make(shop)
    shown = shop.ok("fork", f"{API}@2", "--preview")
    lines = shown.splitlines()
    assert lines[0] == "Keep the counters in Redis, so that all workers share them"
    assert lines[4] == " 2 files changed, +2 -0"
    assert "no code captured" in shop.ok("fork", f"{PARSER}@1", "--preview")
    assert "before the first" in shop.fails(2, "fork", f"{API}@0", "--preview")
