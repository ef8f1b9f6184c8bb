"""A base command with other arguments for the agent: everything else stays as it was written."""

import json
import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prong.agents import argv, shell
from prong.agents.argv import Argument, Grammar
from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.store import CodexStore
from prong.agents.shell import Word
from prong.errors import UsageError
from prong.model.forks import Child, ForkPoint
from prong.model.sessions import SessionRef

GRAMMAR = Grammar(
    switches=frozenset({"-s", "-t", "--switch"}),
    one=frozenset({"-o", "--one"}),
    optional=frozenset({"-q", "--optional"}),
    many=frozenset({"--many"}),
)


def parsed(line: str) -> list[tuple[str | None, list[str]]]:
    words = [Word.of(text) for text in shlex.split(line)]
    return [(one.flag, [word.text for word in one.words]) for one in GRAMMAR.arguments(words)]


class TestGrammar:
    """Which words belong to a flag."""

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("--switch x", [("--switch", ["--switch"]), (None, ["x"])]),
            ("--one -s x", [("--one", ["--one", "-s"]), (None, ["x"])]),
            ("--one=-s x", [("--one", ["--one=-s"]), (None, ["x"])]),
            ("--optional x", [("--optional", ["--optional", "x"])]),
            ("--optional -s", [("--optional", ["--optional"]), ("-s", ["-s"])]),
            ("--optional= x", [("--optional", ["--optional="]), (None, ["x"])]),
            ("--optional ''", [("--optional", ["--optional", ""])]),
            ("--many a b -s c", [("--many", ["--many", "a", "b"]), ("-s", ["-s"]), (None, ["c"])]),
            ("--many -s b", [("--many", ["--many", "-s", "b"])]),
            ("-oX -qY", [("-o", ["-oX"]), ("-q", ["-qY"])]),
            ("-so X", [("-s", ["-s"]), ("-o", ["-o", "X"])]),
            ("-stq X", [("-s", ["-s"]), ("-t", ["-t"]), ("-q", ["-q", "X"])]),
            ("-s -- -o --", [("-s", ["-s"]), ("--", ["--"]), (None, ["-o"]), (None, ["--"])]),
            ("- x", [(None, ["-"]), (None, ["x"])]),
            # Unknown: perhaps it takes a value.
            ("--new x y", [("--new", ["--new", "x"]), (None, ["y"])]),
            ("--new -s", [("--new", ["--new"]), ("-s", ["-s"])]),
            ("--one", [("--one", ["--one"])]),
        ],
    )
    def test_arguments(self, line: str, expected: list[tuple[str | None, list[str]]]) -> None:
        assert parsed(line) == expected

    @given(st.lists(st.sampled_from(["-s", "-o", "--many", "--optional", "--one=x", "a", "--"])))
    def test_no_word_is_lost(self, texts: list[str]) -> None:
        arguments = GRAMMAR.arguments([Word.of(text) for text in texts])
        assert [word.text for one in arguments for word in one.words] == texts


def added(command: argv.Command) -> tuple[str, ...]:
    """The command with one word more for the agent."""
    return argv.rebuilt(command, "agent", lambda words: [*words, Word.of("NEW")])


class TestLine:
    """Base commands that are a line for a shell."""

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("agent", "agent NEW"),
            ("agent --x 'a b'", "agent --x 'a b' NEW"),
            ("/opt/a b/agent".replace(" ", "\\ "), "'/opt/a b/agent' NEW"),
            ("npx --yes agent -x", "npx --yes agent -x NEW"),
            ("npx @acme/agent-cli@2.1 -x", "npx @acme/agent-cli@2.1 -x NEW"),
            ("timeout 60 agent", "timeout 60 agent NEW"),
            ("my-wrapper --x", "my-wrapper --x NEW"),
            ("bash -lc 'agent -x && echo done'", "bash -lc 'agent -x NEW && echo done'"),
            ("bash -c agent", "bash -c 'agent NEW'"),
        ],
    )
    def test_without_a_need_for_a_shell(self, line: str, expected: str) -> None:
        assert added(line) == tuple(shlex.split(expected))
        assert added(shlex.split(line)) == tuple(shlex.split(expected))

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ('cd "/a b" && agent -x && echo done', 'cd "/a b" && agent -x NEW && echo done'),
            ("cd agent && agent -x", "cd agent && agent -x NEW"),
            ("cd agent;agent|tee log", "cd agent;agent NEW|tee log"),
            ("KEY='1 2' agent -x", "KEY='1 2' agent -x NEW"),
            ("env KEY=$X agent -x", "env KEY=$X agent -x NEW"),
            ("agent -x 2>err.log", "agent -x NEW 2>err.log"),
            ("agent <in -x >> out # why", "agent -x NEW <in >> out # why"),
            ("(agent -x)", "(agent -x NEW)"),
            ("{ agent -x; }", "{ agent -x NEW; }"),
            ("if true; then exec agent; fi", "if true; then exec agent NEW; fi"),
            ('agent --p "$(cat "a b")" -x', 'agent --p "$(cat "a b")" -x NEW'),
            ("agent --p $(cat a | wc) -x", "agent --p $(cat a | wc) -x NEW"),
            ("agent --p `cat a` ${B:-c d}", "agent --p `cat a` ${B:-c d} NEW"),
            ("~/bin/agent --dir *", "~/bin/agent --dir * NEW"),
            ("agent -x \\\n  -y &&\necho", "agent -x -y NEW &&\necho"),
            ("cd x && wrapper -x", "cd x && wrapper -x NEW"),
            ("timeout 9 agent || true", "timeout 9 agent NEW || true"),
            ("a && sh -c 'agent -x' && b", "a && sh -c 'agent -x NEW' && b"),
        ],
    )
    def test_with_a_shell(self, line: str, expected: str) -> None:
        assert added(line) == ("sh", "-c", expected)

    @pytest.mark.parametrize(
        "line",
        ["", "  ", "node cli.js", "setup && wrapper", "agent 'open", 'agent "$(x', "agent `x"],
    )
    def test_what_cannot_be_used(self, line: str) -> None:
        with pytest.raises(UsageError) as caught:
            added(line)
        assert caught.value.hint

    def test_the_program(self) -> None:
        assert argv.executable("cd x && A=1 /opt/agent --y", "agent") == "/opt/agent"
        assert argv.executable(["timeout", "5", "agent"], "agent") == "agent"
        assert argv.executable("bash -lc 'cd x; my-agent'", "agent") == "my-agent"
        assert argv.executable("agent", "agent") == "agent"

    @given(st.text(alphabet="ab '\"\\$(){}`;&|<>#\n=~*-2", max_size=30))
    def test_a_line_is_never_changed_by_reading_it(self, line: str) -> None:
        try:
            found = shell.runs(line)
        except UsageError:
            return
        assert "".join(map(str, found)) == line


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program `agent` that prints its arguments, in a folder for PATH."""
    folder = tmp_path_factory.mktemp("bin")
    script = folder / "agent"
    script.write_text(
        "#!/bin/sh\nfor word; do printf '%s\\0' \"$word\"; done\nprintf '\\1'\n", encoding="utf-8"
    )
    script.chmod(0o755)
    return folder


def run(words: Sequence[str], stub: Path) -> list[list[str]]:
    """The arguments of each start of `agent`, as the system hands them over."""
    env = {"PATH": f"{stub}:{os.environ['PATH']}", "HOME": str(stub)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True, cwd=stub)
    return [start.split("\0")[:-1] for start in done.stdout.split("\1")[:-1]]


_TEXTS = st.text(alphabet="a b'\"\\$(){}`;&|<>#\n=~*-é", min_size=1, max_size=8)


@settings(max_examples=40, deadline=None)
@given(st.lists(_TEXTS, max_size=4), _TEXTS)
def test_a_real_shell_agrees(stub: Path, texts: list[str], new: str) -> None:
    def change(words: Sequence[Word]) -> Sequence[Word]:
        return [*words, Word.of(new)]

    line = shlex.join(["agent", *texts])
    for command in (line, f"cd . && {line} && true", f"A=1 {line} 2>/dev/null", ["agent", *texts]):
        assert run(argv.rebuilt(command, "agent", change), stub) == [[*texts, new]]


def test_only_one_of_two_starts_is_changed(stub: Path) -> None:
    assert run(added("agent 1; agent 2"), stub) == [["1", "NEW"], ["2"]]


class TestLaunch:
    def test_the_longest_argument(self, tmp_path: Path) -> None:
        longest = "x" * argv.LONGEST
        launch = argv.launch(["true", longest], tmp_path, {}, "")
        subprocess.run(launch.argv, check=True)
        with pytest.raises(UsageError, match="too long") as caught:
            argv.launch(["true", longest + "x"], tmp_path, {}, "")
        assert caught.value.hint
        with pytest.raises(OSError, match="too long"):
            subprocess.run(["true", longest + "x"], check=True)

    def test_bytes_count_and_not_characters(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="too long"):
            argv.launch(["true", "é" * (argv.LONGEST // 2 + 1)], tmp_path, {}, "")

    def test_what_no_program_can_be_given(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="NUL"):
            argv.launch(["true", "a\0b"], tmp_path, {}, "")
        with pytest.raises(UsageError, match="half a character"):
            argv.launch(["true", "a\ud800b"], tmp_path, {}, "")
        # Bytes that are no text come from a command line as they are, and go into one.
        argv.launch(["true", "a\udcffb"], tmp_path, {}, "")

    def test_the_title_of_a_fork(self) -> None:
        ref = SessionRef("claude", "60309e1e-1111-4111-8111-111111111111")

        def title(turn: int | None, turn_id: str | None = None) -> str:
            child = Child(None, Path("/w"), ForkPoint(ref, turn, turn_id))
            return ClaudeStore().start(child).title

        assert title(12, "t") == "fork of 60309e1e@12"
        assert title(0) == "fork of 60309e1e@0"
        assert title(None, "abcdefghij") == "fork of 60309e1e@abcdefgh"

    def test_the_root_is_named_when_it_is_another(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CODEX_HOME", str(tmp_path))
        link = tmp_path / "link"
        link.symlink_to(tmp_path)
        assert CodexStore().environment(link) == {}
        assert CodexStore().environment(tmp_path / "x") == {"CODEX_HOME": str(tmp_path / "x")}


def test_the_old_prompt_stays_unless_there_is_a_new_one() -> None:
    def with_prompt(line: str, prompt: str | None) -> str:
        arguments: list[Argument] = list(GRAMMAR.arguments(list(map(Word.of, shlex.split(line)))))
        words = argv.with_prompt(arguments, ["--own"], prompt)
        return json.dumps([word.text for word in words])

    assert with_prompt("-s", None) == json.dumps(["-s", "--own"])
    assert with_prompt("old -s", None) == json.dumps(["-s", "--own", "--", "old"])
    assert with_prompt("-s -- -old", None) == json.dumps(["-s", "--own", "--", "-old"])
    assert with_prompt("old -s", "-new") == json.dumps(["-s", "--own", "--", "-new"])
    assert with_prompt("-s -- -old", "") == json.dumps(["-s", "--own", "--", ""])
