"""How Claude Code is started. What the real program makes of it: tests/e2e/workers."""

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prong.agents.argv import Command
from prong.agents.claude import launch as commands
from prong.agents.claude.folders import project_folder
from prong.agents.claude.store import ClaudeStore
from prong.errors import UsageError
from prong.model.forks import Child, ForkPoint, Launch
from prong.model.record import replace
from prong.model.sessions import Session, SessionRef
from prong.testing.home import IsolatedHome

OLD = "60309e1e-1111-4111-8111-111111111111"
NEW = "70309e1e-2222-4222-8222-222222222222"
REF = SessionRef("claude", OLD)
CWD = Path("/w/a b")
CHILD = Child(NEW, CWD, ForkPoint(REF, 12, "turn"))


@pytest.fixture
def root(isolated_home: IsolatedHome) -> Path:
    return isolated_home.claude


def store(command: Command, roots: list[Path]) -> ClaudeStore:
    return ClaudeStore(roots).with_command(command if isinstance(command, str) else tuple(command))


def session_in(root: Path, cwd: Path = CWD, name: str = OLD) -> Session:
    return Session(REF, str(root / "projects" / project_folder(cwd) / f"{name}.jsonl"), "title")


def written(session: Session) -> Session:
    session.path.parent.mkdir(parents=True, exist_ok=True)
    session.path.touch()
    return session


def forked(command: Command, root: Path, prompt: str | None = None) -> Launch:
    return store(command, [root]).native_fork(session_in(root), CHILD, prompt)


OURS = f"--resume {OLD} --fork-session --session-id {NEW}"


class TestStripping:
    """Old session flags go, in every spelling; all others stay in their order."""

    @pytest.mark.parametrize(
        "flags",
        [
            "-r X",
            "-rX",
            "-r=X",
            "--resume X",
            "--resume=X",
            "--resume=",
            "--resume ''",
            "-c",
            "--continue",
            "--session-id X",
            "--session-id=X",
            "--fork-session",
            "--resume-session-at X",
            "--resume-session-at=X",
            "--resume-drops-turn X",
            "--rewind-files X",
            "--from-pr 12",
            "--from-pr=12",
            "--teleport",
            "--teleport X",
            "--reply-on-resume",
            "--session-began-as-copy true",
            "-c --fork-session --session-id X",
            "-r X --fork-session --session-id=Y --resume-session-at Z",
        ],
    )
    def test_every_spelling(self, root: Path, flags: str) -> None:
        wanted = tuple(shlex.split(f"claude --model opus --verbose {OURS}"))
        for line in (
            f"claude {flags} --model opus --verbose",
            f"claude --model opus {flags} --verbose",
            f"claude --model opus --verbose {flags}",
        ):
            assert forked(line, root).argv == wanted
            assert forked(shlex.split(line), root).argv == wanted

    def test_a_resume_without_a_value(self, root: Path) -> None:
        line = "claude --resume --model opus -r --effort high"
        assert forked(line, root).argv == tuple(
            shlex.split(f"claude --model opus --effort high {OURS}")
        )

    @pytest.mark.parametrize(
        ("together", "kept"),
        [("-pc", "-p"), ("-cp", "-p"), ("-pr X", "-p"), ("-prX", "-p"), ("-pv", "-p -v")],
    )
    def test_short_flags_that_stand_together(self, root: Path, together: str, kept: str) -> None:
        line = f"claude {together} --model opus"
        assert forked(line, root).argv == tuple(shlex.split(f"claude {kept} --model opus {OURS}"))

    @pytest.mark.parametrize(
        "kept",
        [
            "--append-system-prompt -c",
            "--append-system-prompt=-c",
            "--append-system-prompt '--resume old'",
            "--system-prompt --continue",
            "--model --resume",
            "--add-dir a b c --verbose",
            "--add-dir -c",
            "--allowedTools 'Bash(git *)' Edit --disallowed-tools WebFetch",
            "--mcp-config a.json b.json",
            "--tools ''",
            "--debug",
            "--debug hooks,mcp",
            "-d --verbose",
            "-w",
            "-w name --tmux=classic",
            "--settings '{\"a\": 1}'",
            "--dangerously-skip-permissions --permission-mode plan",
            "-n name",
            "--max-turns 3 --thinking adaptive",
            "--a-flag-of-tomorrow value",
            "--a-flag-of-tomorrow=--resume",
        ],
    )
    def test_all_others_stay(self, root: Path, kept: str) -> None:
        wanted = tuple(shlex.split(f"claude {kept} {OURS}"))
        for line in (f"claude {kept}", f"claude -r X {kept}", f"claude -c {kept} --fork-session"):
            assert forked(line, root).argv == wanted

    def test_in_a_line_for_a_shell(self, root: Path) -> None:
        line = 'cd "/a b" && claude -r old --model opus && echo done'
        assert forked(line, root).argv == (
            *("sh", "-c"),
            f'cd "/a b" && claude --model opus {OURS} && echo done',
        )
        line = "claude --resume=old --append-system-prompt \"$(cat '-r x')\" -c; claude -c"
        assert forked(line, root).argv == (
            *("sh", "-c"),
            f"claude --append-system-prompt \"$(cat '-r x')\" {OURS}; claude -c",
        )

    def test_a_prompt_in_a_line_for_a_shell(self, root: Path) -> None:
        launch = forked("cd x && claude", root, "it's $HOME; rm *\nx")
        assert launch.argv[2] == f"cd x && claude {OURS} -- 'it'\"'\"'s $HOME; rm *\nx'"

    @given(
        st.lists(
            st.sampled_from(
                [
                    *("-r X", "--resume=X", "-c", "--session-id X", "--fork-session", "-pr X"),
                    *("--model opus", "-p", "--add-dir a b", "--debug", "-n x", "--verbose"),
                    *("--append-system-prompt -c", "--unknown", "--tools ''", "-w"),
                ]
            )
        )
    )
    def test_once_more_changes_nothing(self, flags: list[str]) -> None:
        root = Path("/r")
        once = forked(f"claude {' '.join(flags)}", root)
        assert forked(list(once.argv), root) == once
        assert once.argv[-5:] == tuple(shlex.split(OURS))
        assert once.argv.count("--fork-session") == 1

    def test_every_flag_has_one_place(self) -> None:
        grammar = commands.GRAMMAR
        groups = (grammar.switches, grammar.one, grammar.optional, grammar.many)
        assert sum(map(len, groups)) == len(frozenset[str]().union(*groups))
        assert frozenset[str]().union(*groups) >= commands.SESSION_FLAGS


class TestPrompt:
    @pytest.mark.parametrize(
        ("prompt", "word"),
        [
            ("go on", "go on"),
            ("-x --resume", "-x --resume"),
            ("a\nb 'c' \"d\" $E", "a\nb 'c' \"d\" $E"),
            # `claude -- doctor` starts the subcommand of that name; the program trims the space.
            ("doctor", "doctor "),
            ("", " "),
        ],
    )
    def test_it_is_the_last_word(self, root: Path, prompt: str, word: str) -> None:
        launch = store("claude -p old --add-dir x", [root]).resume(session_in(root), CWD, prompt)
        assert launch.argv == (*("claude", "-p", "--add-dir", "x", "--resume", OLD, "--", word),)

    def test_too_long(self, root: Path) -> None:
        with pytest.raises(UsageError, match="too long"):
            store("claude", [root]).start(CHILD, "x " * 70_000)


class TestLaunches:
    def test_start(self, root: Path) -> None:
        launch = store("claude -c --model opus", [root]).start(CHILD, "go on")
        assert launch == Launch(
            ("claude", "--model", "opus", "--session-id", NEW, "--", "go on"),
            CWD,
            {},
            "fork of 60309e1e@12",
        )
        assert store("claude", [root]).start(replace(CHILD, id=None)).argv == ("claude",)

    def test_resume(self, root: Path) -> None:
        launch = store("claude -r x", [root]).resume(session_in(root), CWD)
        assert launch == Launch(("claude", "--resume", OLD), CWD, {}, "claude:60309e1e")

    def test_native_fork(self, root: Path) -> None:
        launch = forked("claude", root, "go on")
        assert launch.argv == ("claude", *shlex.split(OURS), "--", "go on")
        assert (launch.cwd, launch.env, launch.title) == (CWD, {}, "fork of 60309e1e@12")

    def test_a_title_is_the_sessions_name(self, root: Path) -> None:
        child = replace(CHILD, title="-t (fork @12)")
        launch = store("claude -n old --verbose", [root]).native_fork(session_in(root), child)
        assert launch.argv[1:] == ("--verbose", *shlex.split(OURS), "--name", "-t (fork @12)")
        assert store("claude", [root]).start(child).argv[-2:] == ("--name", "-t (fork @12)")


class TestHandle:
    """The id where Claude Code looks for it, else the path."""

    def test_a_session_of_another_project(self, root: Path) -> None:
        session = written(session_in(root, Path("/w/other")))
        launch = store("claude", [root]).native_fork(session, CHILD)
        assert launch.argv[1:3] == ("--resume", session.file)
        assert store("claude", [root]).resume(session, CWD).argv[2] == session.file
        assert store("claude", [root]).resume(session, Path("/w/other")).argv[2] == OLD

    def test_a_link_is_as_good_as_the_folder(self, root: Path, tmp_path: Path) -> None:
        link = tmp_path / "link"
        link.symlink_to(root)
        session = written(session_in(link))
        assert store("claude", [root]).resume(session, CWD).argv[2] == OLD

    def test_a_fork_that_is_yet_to_be_written(self, root: Path) -> None:
        planned = replace(session_in(root, Path("/w/other")), ref=SessionRef("claude", NEW))
        assert store("claude", [root]).resume(planned, CWD).argv[1:] == ("--resume", NEW)

    def test_a_file_under_another_name_is_not_the_session_whose_id_it_holds(
        self, root: Path
    ) -> None:
        session = written(session_in(root, name="shared"))
        assert store("claude", [root]).resume(session, CWD).argv[2] == session.file

    def test_an_id_that_a_file_made_up_is_no_flag(self, root: Path) -> None:
        id_ = "--dangerously-skip-permissions"
        session = written(replace(session_in(root, name=id_), ref=SessionRef("claude", id_)))
        words = store("claude", [root]).resume(session, CWD).argv
        assert words[2] == session.file
        assert id_ not in words


class TestRoot:
    def test_another_root_is_named(self, root: Path, tmp_path: Path) -> None:
        other = tmp_path / "laptop"
        session = session_in(other)
        for launch in (
            store("claude", [root, other]).resume(session, CWD),
            store("claude", [root, other]).native_fork(session, CHILD),
            store("claude", [other]).start(CHILD),
        ):
            assert launch.env == {"CLAUDE_CONFIG_DIR": str(other)}
            assert NEW in launch.argv or launch.argv[2] == OLD

    def test_of_a_file_from_elsewhere(self, root: Path, tmp_path: Path) -> None:
        copied = tmp_path / "backup/projects/-w-x" / f"{OLD}.jsonl"
        session, elsewhere = (
            Session(REF, str(path), "title") for path in (copied, tmp_path / f"{OLD}.jsonl")
        )
        assert store("claude", [root]).root_of(session) == tmp_path / "backup"
        assert store("claude", [root]).root_of(elsewhere) == root

    def test_the_root_of_the_environment(
        self, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
        assert ClaudeStore().environment(tmp_path) == {}
        assert ClaudeStore().environment(root) == {"CLAUDE_CONFIG_DIR": str(root)}
