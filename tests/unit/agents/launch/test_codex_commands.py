"""How Codex is started. What the real program makes of it: tests/e2e/workers."""

import json
import os
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prong.agents.argv import Command
from prong.agents.codex import launch as commands
from prong.agents.codex.store import CodexStore
from prong.errors import External, Unavailable, Unsupported, UsageError
from prong.model.forks import Child, ForkPoint, Launch
from prong.model.record import replace
from prong.model.sessions import Session, SessionRef
from prong.testing.home import IsolatedHome

OLD = "01a1e076-654d-7111-8111-111111111111"
NEW = "01a1e076-e558-7222-8222-222222222222"
REF = SessionRef("codex", OLD)
CWD = Path("/w/a b")
CHILD = Child(None, CWD, ForkPoint(REF, 3, "turn"))
OURS = f"-C '/w/a b' {OLD}"
ENV: dict[str, str] = {}


@pytest.fixture
def root(isolated_home: IsolatedHome) -> Path:
    return isolated_home.codex


def store(command: Command, roots: list[Path]) -> CodexStore:
    return CodexStore(roots).with_command(command if isinstance(command, str) else tuple(command))


def session_in(root: Path) -> Session:
    path = root / f"sessions/2026/11/15/rollout-2026-11-15T18-27-30-{OLD}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return Session(REF, str(path), "title")


def resumed(line: str, root: Path, prompt: str | None = None) -> tuple[str, ...]:
    argv = store(line, [root]).resume(session_in(root), CWD, prompt).argv
    words = store(shlex.split(line), [root]).resume(session_in(root), CWD, prompt).argv
    assert words == argv
    return argv


class TestStripping:
    @pytest.mark.parametrize(
        "line",
        [
            "codex -m X --search",
            "codex resume -m X --search",
            "codex resume OLD -m X --search",
            "codex -m X resume OLD --search",
            "codex -m X resume --search OLD",
            "codex fork OLD -m X --search",
            "codex fork --last -m X --all --search",
            "codex resume --last --include-non-interactive -m X --search",
            "codex -C DIR -m X --search",
            "codex -CDIR -m X --search",
            "codex -C=DIR -m X --cd DIR --search",
            "codex -m X --cd=DIR --search resume",
        ],
    )
    def test_every_spelling(self, root: Path, line: str) -> None:
        assert resumed(line, root) == tuple(shlex.split(f"codex resume -m X --search {OURS}"))

    @pytest.mark.parametrize(
        "kept",
        [
            "-c model_reasoning_effort=high",
            "--config 'a=\"resume\"' -c b=1",
            "-i a.png b.png",
            "-p resume",
            "--enable x --disable=y",
            "--add-dir fork",
            "--dangerously-bypass-approvals-and-sandbox",
            "-s read-only -a never --no-alt-screen",
            "--a-flag-of-tomorrow value",
        ],
    )
    def test_all_others_stay(self, root: Path, kept: str) -> None:
        wanted = tuple(shlex.split(f"codex resume {kept} {OURS}"))
        assert resumed(f"codex {kept}", root) == wanted
        assert resumed(f"codex resume OLD {kept}", root) == wanted
        assert resumed(f"codex resume --last {kept} -C DIR", root) == wanted

    def test_old_prompts(self, root: Path) -> None:
        wanted = tuple(shlex.split(f"codex resume {OURS} -- 'go on'"))
        for line in ("codex 'go on'", "codex resume OLD 'go on'", "codex fork --last 'go on'"):
            assert resumed(line, root) == wanted
            assert resumed(line, root, "-new")[-2:] == ("--", "-new")
        assert resumed("codex -- resume", root)[-2:] == ("--", "resume")

    def test_in_a_line_for_a_shell(self, root: Path) -> None:
        line = 'cd "$X" && codex resume OLD -m X 2>log; echo done'
        launch = store(line, [root]).resume(session_in(root), CWD)
        assert launch.argv == (
            *("sh", "-c"),
            f'cd "$X" && codex resume -m X {OURS} 2>log; echo done',
        )

    @pytest.mark.parametrize("name", ["exec", "e", "review"])
    def test_a_headless_base_command_is_refused(self, root: Path, name: str) -> None:
        with pytest.raises(UsageError, match=name):
            store(f"codex -m x {name}", [root]).start(CHILD)

    @given(
        st.lists(
            st.sampled_from(
                ["-m X", "-C DIR", "--last", "-i a b", "--search", "-c a=1", "--cd=X", "--new"]
            )
        )
    )
    def test_once_more_changes_nothing(self, flags: list[str]) -> None:
        root = Path("/r")
        once = store(f"codex {' '.join(flags)}", [root]).resume(session_in(root), CWD)
        assert store(list(once.argv), [root]).resume(session_in(root), CWD) == once

    def test_every_flag_has_one_place(self) -> None:
        grammar = commands.GRAMMAR
        groups = (grammar.switches, grammar.one, grammar.optional, grammar.many)
        assert sum(map(len, groups)) == len(frozenset[str]().union(*groups))


class TestLaunches:
    def test_start(self, root: Path) -> None:
        launch = store("codex resume OLD -m X", [root]).start(CHILD, "doctor")
        argv = ("codex", "-m", "X", "-C", "/w/a b", "--", "doctor")
        assert launch == Launch(argv, CWD, {}, "fork of 01a1e076@3")

    def test_resume(self, root: Path) -> None:
        launch = store("codex", [root]).resume(session_in(root), CWD, "-x")
        argv = ("codex", "resume", "-C", "/w/a b", OLD, "--", "-x")
        assert launch == Launch(argv, CWD, {}, "codex:01a1e076")

    def test_a_native_fork_is_resumed(self, root: Path) -> None:
        launch = store("codex", [root]).native_fork(session_in(root), replace(CHILD, id=NEW))
        assert launch.argv == ("codex", "resume", *ASKS, "-C", "/w/a b", NEW)
        assert launch.title == "fork of 01a1e076@3"
        planned = store("codex", [root]).native_fork(session_in(root), CHILD)
        assert planned.argv[-1] == "<new id>"

    @pytest.mark.parametrize("id_", ["--dangerously-bypass-approvals-and-sandbox", "x", OLD[:-1]])
    def test_an_id_that_is_no_uuid_is_no_argument(self, root: Path, id_: str) -> None:
        session = replace(session_in(root), ref=SessionRef("codex", id_))
        with pytest.raises(Unsupported, match="UUID"):
            store("codex", [root]).resume(session, CWD)
        with pytest.raises(Unsupported, match="UUID"):
            store("codex", [root]).native_fork(session, CHILD)
        with pytest.raises(Unsupported, match="UUID"):
            store("codex", [root]).native_fork(session_in(root), replace(CHILD, id=id_))
        with pytest.raises(Unsupported, match="UUID"):
            commands.fork_natively("false", session, CHILD, ENV)

    @pytest.mark.parametrize(
        ("line", "wanted"),
        [
            ("codex", "codex app-server"),
            ("codex -c a=1 resume OLD --enable=x -C DIR", "codex app-server -c a=1 --enable=x"),
            # It does not start with a profile, and knows no model and no permissions.
            ("env A=1 codex -m X -p work --yolo -c b=2", "env A=1 codex app-server -c b=2"),
        ],
    )
    def test_app_server(self, line: str, wanted: str) -> None:
        assert commands.server_argv(line) == tuple(wanted.split())

    def test_exec_takes_no_permissions_along(self, root: Path) -> None:
        base = "codex -m X --yolo -s danger-full-access --search -p work -c a=1 -C DIR 'go on'"
        assert commands.exec_argv(base, CWD, ["-"]) == tuple(
            shlex.split("codex exec -m X -p work -c a=1 -C '/w/a b' --skip-git-repo-check -")
        )


ASKS = ("-c", 'approval_policy="on-request"')


class TestPermissions:
    """Codex keeps them with a thread, and `codex exec` never asks."""

    def settings(self, root: Path, cwd: Path = CWD, line: str = "codex") -> list[str]:
        session = replace(session_in(root), headless=True)
        argv = store(line, [root]).resume(session, cwd).argv
        assert argv[-3:] == ("-C", str(cwd), OLD)
        return list(argv[2:-3])

    def test_a_thread_that_only_programs_used(self, root: Path) -> None:
        assert tuple(self.settings(root)) == ASKS

    def test_what_the_configuration_says(self, root: Path) -> None:
        text = 'approval_policy = "never"\nsandbox_mode = "danger-full-access"\n'
        (root / "config.toml").write_text(text)
        wanted = ["-c", 'approval_policy="never"', "-c", 'sandbox_mode="danger-full-access"']
        assert self.settings(root) == wanted

    @pytest.mark.parametrize("line", ["codex -p work", "codex -pwork", "codex --profile=work"])
    def test_a_profile_and_flags_of_the_base_command(self, root: Path, line: str) -> None:
        (root / "config.toml").write_text('sandbox_mode = "read-only"\n')
        (root / "work.config.toml").write_text('sandbox_mode = "workspace-write"\n')
        flags = shlex.split(line)[1:]
        wanted = [*ASKS, "-c", 'sandbox_mode="workspace-write"', *flags, "-a", "never"]
        # What is said last counts.
        assert self.settings(root, line=f"{line} -a never") == wanted

    def test_a_folder_that_the_user_trusts(self, root: Path, tmp_path: Path) -> None:
        inner = tmp_path / "repository/inner"
        inner.mkdir(parents=True)
        text = f'[projects."{inner.parent}"]\ntrust_level = "trusted"\nx = 1\n'
        (root / "config.toml").write_text(text)
        assert tuple(self.settings(root, inner)) == ASKS
        (inner.parent / ".git").mkdir()
        trusted = [*ASKS, "-c", 'sandbox_mode="workspace-write"']
        assert self.settings(root, inner) == trusted
        assert self.settings(root, inner.parent) == trusted
        (root / "config.toml").write_text(f'default_permissions = "x"\n{text}')
        assert tuple(self.settings(root, inner)) == ASKS

    @pytest.mark.parametrize("text", ["= broken", "approval_policy = {}", "projects = 1", "\xff"])
    def test_strange_configurations(self, root: Path, text: str) -> None:
        (root / "config.toml").write_text(text, encoding="latin-1")
        assert tuple(self.settings(root)) == ASKS


class TestRoot:
    def test_another_root_is_named(self, root: Path, tmp_path: Path) -> None:
        other = tmp_path / "laptop"
        session = session_in(other)
        for launch in (
            store("codex", [root, other]).resume(session, CWD),
            store("codex", [root]).resume(session, CWD),
            store("codex", [root, other]).native_fork(session, CHILD),
            store("codex", [other]).start(CHILD),
            store("codex", [root, other]).start(replace(CHILD, root=other)),
            store("codex", [root, other]).native_fork(session, replace(CHILD, root=other)),
            store("codex", [root, other]).seed(replace(CHILD, root=other)),
        ):
            assert launch.env == {"CODEX_HOME": str(other)}

    def test_codex_does_not_fork_what_lies_elsewhere(self, root: Path, tmp_path: Path) -> None:
        session = session_in(tmp_path / "laptop")
        child = replace(CHILD, root=root)
        with pytest.raises(UsageError, match="lies in"):
            store("codex", [root]).native_fork(session, child)
        with pytest.raises(UsageError, match="lies in"):
            store("false", [root]).fork_natively(session, child)

    def test_a_root_under_another_name(self, root: Path, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(root)
        child = replace(CHILD, root=root)
        assert store("codex", [root]).native_fork(session_in(tmp_path / "link"), child).env == {}

    def test_a_file_of_another_agent_says_nothing(self, root: Path, tmp_path: Path) -> None:
        foreign = tmp_path / "sessions/.claude/projects/-w-x/x.jsonl"
        assert store("codex", [root]).root_of(Session(REF, str(foreign), "title")) == root


def started(id_: str) -> str:
    """A line of shell that prints the event."""
    return f"echo {shlex.quote(json.dumps({'type': 'thread.started', 'thread_id': id_}))}"


class TestForkNatively:
    """With stand-ins for the program; the real one is in tests/e2e."""

    @pytest.fixture
    def child(self, tmp_path: Path) -> Child:
        return replace(CHILD, cwd=tmp_path)

    def stub(self, folder: Path, script: str) -> list[str]:
        path = folder / "codex"
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return [str(path)]

    def test_the_new_id(self, root: Path, tmp_path: Path, child: Child) -> None:
        command = self.stub(tmp_path, f"echo warning; {started(NEW)}; echo x >&2")
        assert commands.fork_natively(command, session_in(root), child, ENV) == NEW

    @pytest.mark.parametrize(
        "script",
        [
            "echo 'no rollout found' >&2; exit 1",
            "echo nothing",
            # An unknown name silently starts a new thread, or goes on with the old one.
            started(OLD),
            started("--yolo"),
        ],
    )
    def test_no_fork(self, root: Path, tmp_path: Path, child: Child, script: str) -> None:
        with pytest.raises(External) as caught:
            commands.fork_natively(self.stub(tmp_path, script), session_in(root), child, ENV)
        assert caught.value.details["argv"][-3:] == ["fork", "--json", OLD]
        assert caught.value.hint

    def test_what_it_said_last_is_told(self, root: Path, tmp_path: Path, child: Child) -> None:
        command = self.stub(tmp_path, "printf 'warning\\nno rollout found\\n\\n' >&2; exit 1")
        with pytest.raises(External, match=f"did not fork codex:{OLD}: no rollout found$"):
            commands.fork_natively(command, session_in(root), child, ENV)

    def test_no_program(self, root: Path, child: Child) -> None:
        with pytest.raises(Unavailable, match="codex does not start"):
            commands.fork_natively(["/nowhere/codex"], session_in(root), child, ENV)

    def test_its_environment(
        self, tmp_path: Path, child: Child, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CLAUDECODE", "1")
        log = tmp_path / "log"
        script = f'echo "$CODEX_HOME${{CLAUDECODE-}}" > {shlex.quote(str(log))}; {started(NEW)}'
        other = tmp_path / "laptop"
        command = self.stub(tmp_path, script)
        assert store(command, [other]).fork_natively(session_in(other), child) == NEW
        assert log.read_text() == f"{other}\n"
        assert os.environ["CODEX_HOME"] == str(root)
