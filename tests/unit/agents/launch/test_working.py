"""Agents as workers: commands and the sessions they name, and what headless turns print."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prong.agents.base import AgentStore
from prong.agents.claude.store import ClaudeStore
from prong.agents.codex import activity as live
from prong.agents.codex.store import CodexStore
from prong.errors import Unsupported, UsageError
from prong.model.sessions import Activity
from prong.model.workers import NewSession, RunOptions
from prong.processes import process as processes
from prong.testing.home import IsolatedHome

OLD = "60309e1e-1111-4111-8111-111111111111"
NEW = "70309e1e-2222-4222-8222-222222222222"
CWD = Path("/w/a b")


def claude(command: str | tuple[str, ...] = "claude") -> ClaudeStore:
    store = ClaudeStore([Path("/r/.claude")])
    store.command = command
    return store


def codex(command: str | tuple[str, ...] = "codex") -> CodexStore:
    store = CodexStore([Path("/r/.codex")])
    store.command = command
    return store


def test_both_are_what_workers_need() -> None:
    for store in (claude(), codex()):
        assert store.supports("begin")
        assert store.supports("is_trusted")
        assert store.supports("dialog_on")
    assert not claude().chooses_ids
    assert codex().chooses_ids


CLAUDE_SESSIONS = {
    f"--session-id {NEW}": NEW,
    f"--session-id={NEW.upper()}": NEW,
    f"-r {OLD}": OLD,
    f"-r{OLD}": OLD,
    f"-pr {OLD}": OLD,
    f"-cr={OLD}": OLD,
    f"--resume={OLD}": OLD,
    f"--resume /s/{OLD}.jsonl": OLD,
    f"--resume {OLD} --fork-session": None,
    f"--resume {OLD} --fork-session --session-id {NEW}": NEW,
    "--resume 'a title'": None,
    "--resume": None,
    "--continue": None,
    "-c": None,
    "--session-id nonsense": None,
    f"--model {OLD}": None,
    f"-- --resume {OLD}": None,
}
CODEX_SESSIONS = {
    f"resume {OLD}": OLD,
    f"resume {OLD} 'and go on'": OLD,
    f"-m x resume -C /d {OLD}": OLD,
    "resume --last": None,
    f"resume --last {OLD}": None,
    "resume": None,
    f"fork {OLD}": None,
    f"-- resume {OLD}": None,
    f"--config=a={OLD}": None,
}


class TestSessions:
    @pytest.mark.parametrize(("words", "id_"), CLAUDE_SESSIONS.items())
    @pytest.mark.parametrize("line", ["claude {}", "cd /x && claude {}", 'bash -lc "claude {}"'])
    def test_of_claude(self, line: str, words: str, id_: str | None) -> None:
        assert claude().session_in(line.format(words)) == id_

    @pytest.mark.parametrize(("words", "id_"), CODEX_SESSIONS.items())
    def test_of_codex(self, words: str, id_: str | None) -> None:
        assert codex().session_in(f"codex {words}") == id_

    @pytest.mark.parametrize("words", CLAUDE_SESSIONS)
    def test_claude_is_told_another_one(self, words: str) -> None:
        kept = claude(f"claude --verbose {words}").command_with(RunOptions())
        assert claude().session_in(kept) is None
        assert kept[:2] == ("claude", "--verbose")
        store = claude(kept)
        assert store.session_in(store.begin(NewSession(NEW, CWD)).argv) == NEW
        assert store.session_in(store.headless(NewSession(OLD, CWD), resume=True).argv) == OLD

    @pytest.mark.parametrize("words", CODEX_SESSIONS)
    def test_codex_is_told_another_one(self, words: str) -> None:
        kept = codex(f"codex --search {words}").command_with(RunOptions())
        assert OLD not in kept  # only inside of a setting
        assert "resume" not in kept
        assert "fork" not in kept


VALUES = st.text("ab -=$'\"\n", min_size=1, max_size=8).filter(lambda text: text.strip() == text)
FLAGS = ("--model", "--effort", "--append-system-prompt", "--permission-mode")


@given(st.lists(st.tuples(st.sampled_from(FLAGS), VALUES, st.booleans()), max_size=4), VALUES)
def test_what_is_no_session_stays_as_it_is(given: list[tuple[str, str, bool]], prompt: str) -> None:
    flags = [
        word
        for flag, value, joined in given
        for word in ([f"{flag}={value}"] if joined else [flag, value])
    ]
    words = ("claude", *flags, "--resume", OLD, "--", prompt)
    kept = claude(words).command_with(RunOptions())
    assert list(kept) == ["claude", *flags]
    launch = claude(kept).begin(NewSession(NEW, CWD), prompt)
    own = ["--session-id", NEW, "--"]
    assert list(launch.argv[:-1]) == ["claude", *flags, *own]
    assert launch.argv[-1].rstrip() == prompt


class TestOptions:
    def test_of_claude(self, tmp_path: Path) -> None:
        options = RunOptions(
            model="opus",
            skip_permissions=True,
            settings=tmp_path / "s.json",
            plugin_dirs=(tmp_path / "p",),
            extra=("--effort", "high"),
        )
        kept = claude("claude --model=haiku --settings x.json -p 'do it'").command_with(options)
        assert kept == (
            *("claude", "--model", "opus", "--dangerously-skip-permissions"),
            *("--settings", str(tmp_path / "s.json"), "--plugin-dir", str(tmp_path / "p")),
            *("--effort", "high"),
        )

    def test_a_line_for_a_shell_stays_one(self) -> None:
        kept = claude("cd ~/x && claude -c | tee log").command_with(RunOptions(model="a b"))
        assert kept == ("sh", "-c", "cd ~/x && claude --model 'a b' | tee log")
        launch = claude(kept).begin(NewSession(NEW, CWD, "calm-otter"))
        assert launch.argv[-1] == (
            f"cd ~/x && claude --model 'a b' --session-id {NEW} --name calm-otter | tee log"
        )
        assert (launch.cwd, launch.title) == (CWD, "calm-otter")

    def test_of_codex(self) -> None:
        options = RunOptions(model="m", skip_permissions=True, extra=("-c", "a=1"))
        kept = codex("codex -m old -a never --search resume --last").command_with(options)
        quiet = ("-c", "features.daemon_auto_start=false")
        skip = "--dangerously-bypass-approvals-and-sandbox"
        assert kept == ("codex", "--search", *quiet, "--model", "m", skip, "-c", "a=1")
        # Forks and clones have it as their command.
        assert codex(kept).command_with(RunOptions()).count(quiet[1]) == 1
        assert codex(kept).begin(NewSession(None, CWD), "-x").argv == (
            *kept,
            *("-C", str(CWD), "--", "-x"),
        )

    @pytest.mark.parametrize(
        "options",
        [RunOptions(settings=Path("s.json")), RunOptions(plugin_dirs=(Path("p"),))],
    )
    def test_what_codex_does_not_have(self, options: RunOptions) -> None:
        with pytest.raises(Unsupported) as error:
            codex().command_with(options)
        assert error.value.hint

    @pytest.mark.parametrize(
        ("store", "words"),
        [
            (claude(), ("--continue",)),
            (claude(), (f"-r{OLD}",)),
            (claude(), ("-p",)),
            (codex(), ("--cd=/x",)),
            (codex(), ("--last",)),
        ],
    )
    def test_a_session_among_the_extra_words(
        self, store: AgentStore, words: tuple[str, ...]
    ) -> None:
        with pytest.raises(UsageError, match="is set by prong"):
            store.command_with(RunOptions(extra=words))

    @pytest.mark.parametrize("store", [claude(), codex()])
    def test_a_prompt_among_the_extra_words(self, store: AgentStore) -> None:
        with pytest.raises(UsageError, match="do this"):
            store.command_with(RunOptions(extra=("do this",)))

    def test_headless_codex_takes_what_exec_knows(self) -> None:
        line = "codex --search -a on-request -s read-only --profile p --no-alt-screen"
        kept = codex(line).command_with(RunOptions())
        argv = codex(kept).headless(NewSession(OLD, CWD), resume=True).argv
        assert argv[:2] == ("codex", "exec")
        assert "--search" not in argv
        assert "-a" not in argv
        assert 'approval_policy="on-request"' in argv
        assert argv[-5:] == ("-C", str(CWD), "resume", OLD, "-")
        assert codex(kept).headless(NewSession(None, CWD), resume=False).argv[-1] == "-"
        with pytest.raises(Unsupported):
            codex(kept).headless(NewSession("--last", CWD), resume=True)


def lines(*events: dict[str, Any] | str) -> list[str]:
    return [one if isinstance(one, str) else json.dumps(one) for one in events]


INIT: dict[str, Any] = {"type": "system", "subtype": "init", "session_id": OLD}


class TestOutput:
    @staticmethod
    def said(text: str, message: str = "m", model: str = "x") -> dict[str, Any]:
        content = [{"type": "text", "text": text}]
        return {"type": "assistant", "message": {"id": message, "model": model, "content": content}}

    def test_of_claude(self) -> None:
        store = claude()
        running = lines(INIT, self.said("half"), self.said(" done"))
        told = store.headless_events(running)
        assert (told.session_id, told.is_over, told.reply, told.error) == (
            OLD,
            False,
            "half done",
            None,
        )
        ended = [*running, *lines({"type": "result", "subtype": "success", "result": "all"})]
        told = store.headless_events(ended)
        assert (told.is_over, told.reply, told.error) == (True, "all", None)
        # The next turn is in the same log.
        again = store.headless_events([*ended, *lines(INIT)])
        assert (again.is_over, again.reply) == (False, "")
        failed = {"type": "result", "subtype": "success", "is_error": True, "result": "API Error"}
        synthetic = self.said("API Error", "n", "<synthetic>")
        told = store.headless_events([*running, *lines(synthetic, failed)])
        assert (told.is_over, told.reply, told.error) == (True, "half done", "API Error")

    def test_of_codex(self) -> None:
        store = codex()
        item = {"type": "agent_message", "text": "one"}
        running = lines(
            "WARNING: proceeding",
            {"type": "thread.started", "thread_id": OLD},
            {"type": "turn.started"},
            {"type": "item.completed", "item": {"type": "error", "message": "no metadata"}},
            {"type": "error", "message": "trying again"},
            {"type": "item.completed", "item": item},
        )
        told = store.headless_events(running)
        assert (told.session_id, told.is_over, told.reply) == (OLD, False, "one")
        told = store.headless_events([*running, *lines({"type": "turn.completed"})])
        assert (told.is_over, told.reply, told.error) == (True, "one", None)
        failed = {"type": "turn.failed", "error": {"message": "bad"}}
        told = store.headless_events([*running, *lines(failed)])
        assert (told.is_over, told.error) == (True, "bad")
        assert store.headless_events(["Error: thread not found"]).error == "Error: thread not found"

    @given(st.lists(st.text(max_size=30), max_size=6))
    def test_any_lines(self, output: list[str]) -> None:
        for store in (claude(), codex()):
            assert not store.headless_events(output).is_over


class TestOpenSessions:
    def test_one_look_at_the_locks_for_all(self, isolated_home: IsolatedHome) -> None:
        folder = isolated_home.codex / "thread-writer-locks"
        folder.mkdir()
        for number in range(200):
            (folder / f"{number}.lock").touch()
        opened: list[str] = []
        counting = True

        def look(event: str, words: Any) -> None:
            if counting and event == "open":
                opened.append(str(words[0]))

        sys.addaudithook(look)
        pids = range(2**22, 2**22 + 50)
        assert CodexStore([isolated_home.codex]).open_sessions(pids) == {}
        codex_files = [one for one in opened if one.startswith(("/proc/", str(folder)))]
        assert codex_files == ["/proc/locks"]
        registry = isolated_home.claude / "sessions"
        registry.mkdir()
        for number in range(200):
            pid = 2**22 + number
            entry = {"pid": pid, "sessionId": OLD, "procStart": "1"}
            (registry / f"{pid}.json").write_text(json.dumps(entry))
        opened.clear()
        assert ClaudeStore([isolated_home.claude]).open_sessions(pids) == {}
        counting = False
        entries = [one for one in opened if one.endswith(".json")]
        assert sorted(entries) == [str(registry / f"{pid}.json") for pid in pids]

    def test_of_claude_by_pid_and_start(self, isolated_home: IsolatedHome) -> None:
        store = ClaudeStore([isolated_home.root / "none", isolated_home.claude])
        pid = os.getpid()
        start = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
        folder = isolated_home.claude / "sessions"
        folder.mkdir()

        def write(**fields: Any) -> None:
            entry = {"pid": pid, "sessionId": OLD, "procStart": start, **fields}
            (folder / f"{pid}.json").write_text(json.dumps(entry))

        assert store.open_sessions([pid]) == {}
        write(status="idle", updatedAt=1794848993297)
        found = store.open_sessions([pid, 2**22])[pid]
        assert (found.session, found.activity, found.waits_for) == (OLD, Activity.IDLE, None)
        assert found.since == datetime.fromtimestamp(1794848993.297, UTC)
        write(status="waiting", waitingFor="permission prompt")
        found = store.open_sessions([pid])[pid]
        assert (found.activity, found.waits_for) == (Activity.BUSY, "permission prompt")
        write(status="busy", procStart="1")
        assert store.open_sessions([pid]) == {}
        (folder / f"{pid}.json").write_text("{")
        assert store.open_sessions([pid]) == {}

    @pytest.mark.parametrize("is_told", [True, False])
    def test_of_codex_by_the_lock_of_a_child(
        self, isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch, *, is_told: bool
    ) -> None:
        if not is_told:  # as on macOS
            monkeypatch.setattr(processes, "_LOCKS", isolated_home.root / "none")
        store = CodexStore([isolated_home.codex])
        folder = isolated_home.codex / "thread-writer-locks"
        folder.mkdir()
        script = """
import fcntl, sys
files = [open(path, "w") for path in sys.argv[1:]]
for file in files:
    fcntl.flock(file, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""
        names = [str(folder / f"{id_}.lock") for id_ in (OLD, NEW)]
        (folder / ".coordination.lock").touch()
        held = [sys.executable, "-c", script, *names]
        shell = ["sh", "-c", '"$@"; true', "sh", *held]
        with subprocess.Popen(shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdout.readline()
            os.utime(names[0], (1, 1))
            found = store.open_sessions([process.pid])
            assert found[process.pid].session == NEW
            assert found[process.pid].activity is Activity.IDLE
            assert store.open_sessions([2**22]) == {}
            process.stdin.close()
        assert store.open_sessions([os.getpid()]) == {}

    def test_the_last_result_shows_that_a_turn_went_on(self, tmp_path: Path) -> None:
        path = tmp_path / "rollout.jsonl"

        def line(second: int, kind: str, type_: str) -> str:
            time = f"2026-11-16T10:00:{second:02}.000Z"
            return json.dumps({"timestamp": time, "type": kind, "payload": {"type": type_}})

        rows = [line(1, "event_msg", "task_started"), line(2, "response_item", "function_call")]
        path.write_text("\n".join(rows) + "\n")
        activity, since = live.last_mark(path)
        assert (activity, since and since.second) == (Activity.BUSY, 1)
        rows.append(line(5, "response_item", "function_call_output"))
        path.write_text("\n".join(rows) + "\n")
        activity, since = live.last_mark(path)
        assert (activity, since and since.second) == (Activity.BUSY, 5)
        rows.append(line(7, "event_msg", "turn_aborted"))
        path.write_text("\n".join(rows) + "\n")
        activity, since = live.last_mark(path)
        assert (activity, since and since.second) == (Activity.IDLE, 7)


def test_the_files_with_the_settings_in_force(isolated_home: IsolatedHome) -> None:
    project = isolated_home.project()
    (project / "inner").mkdir()
    kept = claude("claude --settings=mine.json").settings_files(project)
    assert project / "mine.json" in kept
    assert Path("/r/.claude/settings.json") in kept
    assert project / ".claude/settings.local.json" in kept
    found = codex("codex -p work").settings_files(project / "inner")
    assert Path("/r/.codex/work.config.toml") in found
    assert found[-2:] == [project / ".codex/config.toml", project / "inner/.codex/config.toml"]


CLAUDE_ASKS = """
\u276f please do it

 Bash command
 touch x.txt
 Do you want to proceed?
 \u276f 1. Yes
   2. No

 Esc to cancel \u00b7 Tab to amend
"""
CLAUDE_RESTS = """
\u25cf Do you want to proceed? Press Esc to cancel.

\u276f
----
  ? for shortcuts

"""
CODEX_ASKS = """
  $ touch x.txt
\u203a 1. Yes, proceed (y)
  3. No, and tell Codex what to do differently (esc)
  Press enter to confirm or esc to cancel
"""


def test_dialogs() -> None:
    assert claude().dialog_on(CLAUDE_ASKS) == "permission"
    assert claude().dialog_on(CLAUDE_RESTS + "row\n") is None
    assert claude().dialog_on("") is None
    assert codex().dialog_on(CODEX_ASKS) == "permission"
    for leave in ("quit", "back"):
        foot = f"\u203a 1. Trust and continue\n  2. No\n\n  enter continue \u00b7 esc {leave}\n"
        assert codex().dialog_on(foot) == "trust"
    assert codex().dialog_on(CODEX_ASKS + "\u203a Ask Codex\n\n  model\n  folder\n") is None
