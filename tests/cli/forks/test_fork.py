"""`prong fork`: what it makes, what it says, what it refuses."""

import hashlib
import os
import pty
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from prong import paths
from prong.agents.claude.store import ClaudeStore
from tests.cli import agents
from tests.cli.agents import fork, lines
from tests.cli.code_lab import CodeLab
from tests.cli.shell import API, PARSER, SEARCH, Shell, prong
from tests.cli.terminal import on_terminal
from tests.drivers.tmux import Tmux


def digests(shell: Shell) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for root in (shell.home.claude, shell.home.codex)
        for path in root.rglob("*.jsonl")
    }


def test_a_fork_at_a_turn(shop: Shell) -> None:
    before = digests(shop)
    made = fork(shop, f"claude:{API[:8]}@2")
    assert made["parent"] == f"claude:{API}@2"
    assert made["command"] == ["claude", "--resume", made["child"].removeprefix("claude:")]
    assert made["method"] == "copy"
    assert made["code"] == "none"
    assert made["workspace"] == os.path.realpath(shop.home.projects / "shop")
    assert len(shop.json("turns", made["child"])["turns"]) == 2
    after = digests(shop)
    assert {path: after[path] for path in before} == before
    assert set(after) - set(before) == {made["path"]}


def test_without_a_turn_it_is_the_whole_session(shop: Shell) -> None:
    assert fork(shop, API)["parent"] == f"claude:{API}@4"


def test_a_plan_refuses_what_could_not_be_forked(shop: Shell) -> None:
    """A compaction that preserves a line behind itself leads in a circle."""
    sample = shop.session(1, cwd=str(shop.home.projects / "shop"))
    boundary = sample.chain("system", subtype="compact_boundary")
    sample.answer("first")
    ends = {"headUuid": sample.lines[1]["uuid"], "tailUuid": boundary, "anchorUuid": boundary}
    sample.lines[0]["compactMetadata"] = {"trigger": "auto", "preservedSegment": ends}
    sample.prompt("two")
    sample.answer("second")
    sample.write(shop.home.claude)
    before = digests(shop)
    planned = shop.problem(7, "fork", f"claude:{sample.id}", "--dry-run")
    assert planned["message"].startswith("the lines of this session do not form one conversation")
    assert planned["hint"] == "--method seed forks without copying lines"
    assert shop.problem(7, "fork", f"claude:{sample.id}", "--no-open") == planned
    assert digests(shop) == before


def test_a_session_of_nothing_but_commands_is_forked_by_its_id(shop: Shell) -> None:
    """Claude Code resumes it, though no list shows it."""
    sample = shop.session(1, cwd=str(shop.home.projects / "shop"))
    sample.lines.clear()
    sample.leaf = None
    texts = ["<bash-input>ls</bash-input>", "<bash-stdout>x</bash-stdout>"]
    for text in texts:
        sample.chain("user", message={"role": "user", "content": text})
    sample.write(shop.home.claude)
    assert sample.id not in [row["id"] for row in shop.json("list", "--all")["sessions"]]
    assert shop.problem(3, "fork", f"claude:{sample.id[:-1]}")["code"] == "not_found"
    child = fork(shop, f"claude:{sample.id}")["child"].removeprefix("claude:")
    (made,) = shop.home.claude.glob(f"projects/*/{child}.jsonl")
    users = [line["message"] for line in lines(str(made)) if line["type"] == "user"]
    assert [message["content"] for message in users] == texts


def test_two_files_with_one_id(shop: Shell) -> None:
    (newer,) = shop.home.claude.glob(f"projects/*/{API}.jsonl")
    older = newer.parent.with_name("-elsewhere") / newer.name
    older.parent.mkdir()
    kept = newer.read_bytes().splitlines(keepends=True)
    older.write_bytes(b"".join(kept[: len(kept) // 2]))
    os.utime(older, (1, 1))
    before = digests(shop)
    by_id, by_path = fork(shop, API), fork(shop, str(older))
    assert (by_id["parent"], by_path["parent"]) == (f"claude:{API}@4", f"claude:{API}@2")
    after = digests(shop)
    assert {path: after[path] for path in before} == before
    assert set(after) - set(before) == {by_id["path"], by_path["path"]}


@pytest.mark.parametrize(("turn", "index"), [("-1", 4), ("-4", 1)])
def test_turns_counted_from_the_end(shop: Shell, turn: str, index: int) -> None:
    assert fork(shop, f"{API}@{turn}")["parent"].endswith(f"@{index}")


def test_an_abandoned_turn_by_its_id(shop: Shell) -> None:
    abandoned = shop.json("turns", API)["abandoned"]
    id_ = abandoned[0]["id"]
    made = fork(shop, f"{API}@{id_[:8]}")
    assert made["parent"] == f"claude:{API}@{id_}"
    assert shop.json("turns", made["child"])["turns"][-1]["id"] == id_
    assert any("rewind" in warning for warning in made["warnings"])


def test_before_the_first_turn_there_is_nothing_to_write(shop: Shell) -> None:
    made = fork(shop, f"{API}@0", "--prompt", "start over")
    assert made["path"] is None
    assert made["tokens"] == 0
    assert made["command"][:2] == ["claude", "--session-id"]
    assert made["command"][-1] == "start over"


def test_the_answer_names_the_fork_and_the_command(shop: Shell) -> None:
    said = shop.ok("fork", f"{API}@2").splitlines()
    assert said[0].startswith(f"forked claude:{API}@2 into claude:")
    child = said[0].split()[-1].removeprefix("claude:")
    assert child in said[1]
    assert said[2].strip() == f"cd {shop.home.projects / 'shop'} && claude --resume {child}"


def test_a_plan_is_shown_and_nothing_is_written(shop: Shell) -> None:
    before = digests(shop)
    plan = shop.json("fork", f"{API}@2", "--dry-run", "--prompt", "go on")["plan"]
    assert plan["parent"] == f"claude:{API}@2"
    assert plan["tokens"] == 34_900
    assert plan["window"] == 1_000_000
    assert plan["command"][-1] == "go on"
    shown = shop.ok("fork", f"{API}@2", "--dry-run")
    assert "about 34,900 tokens of 1,000,000" in shown
    assert "claude --resume" in shown
    assert digests(shop) == before
    assert not (shop.home.root / ".local/state/prong/journal").exists()


def test_the_estimate_of_a_seed_is_of_the_seed(
    shop: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ClaudeStore()
    folder = shop.home.root / "bin"
    agents.install(folder, "claude", (*store.program.flags, *store.seed_flags))
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    plan = shop.json("fork", f"{API}@2", "--method", "seed", "--dry-run")["plan"]
    # Not what the agent counted in the source, with its instructions and its tools.
    assert 100 < plan["tokens"] < 2_000


def test_into_another_folder(shop: Shell) -> None:
    folder = shop.home.root / "other place_1"
    folder.mkdir()
    made = fork(shop, f"{API}@1", "--into", str(folder))
    assert made["workspace"] == str(folder)
    assert Path(made["path"]).parent.name.endswith("-other-place-1")
    assert {line["cwd"] for line in lines(made["path"]) if "cwd" in line} == {str(folder)}


def test_id_and_title(shop: Shell) -> None:
    id_ = "11111111-2222-4333-8444-555555555555"
    made = fork(shop, f"{API}@1", "--id", id_, "--title", "with locks")
    assert made["child"] == f"claude:{id_}"
    assert shop.json("list")["sessions"][0]["title"] == "with locks"
    problem = shop.problem(2, "fork", f"{API}@1", "--id", id_)
    assert problem["code"] == "taken"


def test_several_at_once(shop: Shell) -> None:
    made = shop.json("fork", f"{API}@1", "--count", "3")["forks"]
    assert len({one["child"] for one in made}) == 3
    titles = {s["title"] for s in shop.json("list", "--all")["sessions"]}
    title = "Rate limiting for the public API (fork @1)"
    assert {title, f"{title} 2", f"{title} 3"} <= titles


def test_a_fork_of_a_codex_thread_is_written_without_its_program(shop: Shell) -> None:
    before = digests(shop)
    made = fork(shop, f"codex:{PARSER}@1")
    assert len(shop.json("turns", made["child"])["turns"]) == 1
    assert any("codex is not on PATH" in warning for warning in made["warnings"])
    after = digests(shop)
    assert {path: after[path] for path in before} == before


@pytest.mark.parametrize(
    ("source", "agent"), [(f"claude:{API}", "codex"), (f"codex:{PARSER}", "claude")]
)
def test_into_another_agent(shop: Shell, source: str, agent: str) -> None:
    before = shop.json("turns", source)["turns"]
    made = fork(shop, source, "--agent", agent)
    assert made["child"].startswith(f"{agent}:")
    after = shop.json("turns", made["child"])["turns"]
    assert [turn["prompt"] for turn in after] == [turn["prompt"] for turn in before]
    roots = shop.json("tree", made["child"])["roots"]
    assert [root["ref"] for root in roots] == [source]
    [child] = [node for node in roots[0]["children"] if node["ref"] == made["child"]]
    assert child["turn"] == len(before)


def test_images_that_a_fork_will_not_have_are_counted(shop: Shell) -> None:
    sample = shop.session(1, cwd=str(shop.home.projects / "shop"))
    sample.prompt("look")
    link = {"type": "url", "url": "https://example.org/x"}
    sample.lines[-1]["message"]["content"] = [
        {"type": "text", "text": "look"},
        {"type": "image", "source": link},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "UE5H"}},
        {"type": "document", "source": link},
    ]
    bmp = {"type": "base64", "media_type": "image/bmp", "data": "Qk1Q"}
    output: Any = [{"type": "image", "source": bmp}]
    sample.tools(("Read", {}, output))
    sample.answer("seen")
    sample.write(shop.home.claude)
    across = (f"claude:{sample.id}", "--agent", "codex")
    told = "1 document and 2 images are left out: the other agent cannot take them"
    assert told in shop.json("fork", *across, "--dry-run")["plan"]["warnings"]
    made = fork(shop, *across)
    assert told in made["warnings"]
    assert Path(made["path"]).read_text().count("data:image/png;base64,UE5H") == 2
    assert not any("left out" in warning for warning in fork(shop, across[0])["warnings"])


class TestPrompt:
    def test_from_a_pipe(self, shop: Shell) -> None:
        done = subprocess.run(
            prong("fork", f"{API}@1", "--prompt", "-", "--json"),
            input=b"first line\nsecond line\n",
            env=shop.env(),
            capture_output=True,
            check=True,
        )
        assert b"first line\\nsecond line" in done.stdout

    @pytest.mark.parametrize("text", ["", "  \n"])
    def test_an_empty_one(self, shop: Shell, text: str) -> None:
        assert "the prompt is empty" in shop.fails(2, "fork", API, "--prompt", text)

    def test_retry_asks_the_prompt_of_the_turn_again(self, shop: Shell) -> None:
        prompt = shop.json("turns", API)["turns"][1]["prompt"]
        made = fork(shop, f"{API}@2", "--retry")
        assert made["parent"] == f"claude:{API}@1"
        assert made["command"][-1] == prompt

    def test_retry_of_the_first_turn_begins_anew(self, shop: Shell) -> None:
        made = fork(shop, f"{API}@1", "--retry", "--prompt", "better")
        assert made["parent"] == f"claude:{API}@0"
        assert made["command"][-1].strip() == "better"

    def test_retry_opens_an_editor_where_somebody_sits(self, shop: Shell) -> None:
        editor = shop.home.root / "bin" / "ed-it"
        editor.write_text("#!/bin/sh\nprintf 'asked better' > \"$1\"\n")
        editor.chmod(0o755)
        shown = on_terminal(shop, "fork", f"{API}@2", "--retry", EDITOR=str(editor))
        assert shown.status == 0
        assert "'asked better'" in shown.output
        quiet = on_terminal(shop, "fork", f"{API}@2", "--retry", "--yes", EDITOR=str(editor))
        assert "asked better" not in quiet.output


def test_a_folder_below_home(shop: Shell) -> None:
    """The shell leaves `--into=~/other` as it is."""
    (shop.home.root / "other").mkdir()
    made = shop.json("fork", f"{API}@2", "--into=~/other")["fork"]
    assert made["workspace"] == str(shop.home.root / "other")
    problem = shop.problem(3, "fork", API, "--into=~nobody-here/other")
    assert problem["message"] == "folder ~nobody-here/other does not exist"


class TestRefusals:
    def test_a_folder_that_is_not_there(self, shop: Shell) -> None:
        problem = shop.problem(3, "fork", API, "--into", str(shop.home.root / "nowhere"))
        assert problem["hint"].startswith("mkdir -p")

    def test_a_folder_that_is_a_file(self, shop: Shell) -> None:
        file = shop.home.root / "file"
        file.touch()
        assert shop.problem(2, "fork", API, "--into", str(file))["code"] == "usage"

    def test_the_folder_of_the_session_is_gone(self, shop: Shell) -> None:
        (shop.home.projects / "shop").rmdir()
        problem = shop.problem(3, "fork", API)
        assert "no longer exists" in problem["message"]
        assert "--into" in problem["hint"]

    def test_a_turn_that_is_not_there(self, shop: Shell) -> None:
        assert shop.problem(3, "fork", f"{API}@99")["code"] == "not_found"

    def test_a_program_that_is_too_old(self, shop: Shell) -> None:
        agents.install(shop.home.root / "bin", "claude", ("--resume",))
        problem = shop.problem(5, "fork", API, "--method", "native")
        assert "does not know" in problem["message"]
        assert problem["hint"].startswith("update it: npm install")

    def test_native_takes_the_whole_session_only(self, shop: Shell) -> None:
        assert "whole session" in shop.fails(2, "fork", f"{API}@2", "--method", "native")
        assert "--method copy" in shop.fails(2, "fork", f"{API}@2", "--method", "native")

    def test_native_stays_with_its_agent(self, shop: Shell) -> None:
        words = ("fork", API, "--method", "native", "--agent", "codex")
        assert "no fork of its own" in shop.fails(2, *words)

    def test_an_agent_that_is_not_there(self, shop: Shell) -> None:
        assert shop.problem(3, "fork", API, "--agent", "gemini")["code"] == "not_found"

    def test_options_that_do_not_go_together(self, shop: Shell) -> None:
        id_ = "11111111-2222-4333-8444-555555555555"
        assert "one fork" in shop.fails(2, "fork", API, "--exec", "--count", "2")
        assert "one fork" in shop.fails(2, "fork", API, "--id", id_, "--count", "2")
        assert "--method seed" in shop.fails(2, "fork", API, "--trim")


def test_native_is_a_command_with_a_known_id(shop: Shell) -> None:
    made = fork(shop, API, "--method", "native")
    child = made["child"].removeprefix("claude:")
    command = made["command"]
    assert command[:4] == ["claude", "--resume", API, "--fork-session"]
    assert command[command.index("--session-id") + 1] == child
    assert made["path"] is None


def test_exec_becomes_the_agent(shop: Shell) -> None:
    done = shop.process(
        "fork", f"{API}@1", "--exec", "--prompt", "-dash", env=shop.env(CLAUDECODE="1")
    )
    said = done.stdout.decode().splitlines()
    start = said.index(os.path.realpath(shop.home.projects / "shop"))
    assert not any(line.startswith("CLAUDECODE") for line in said)
    words = said[start:]
    assert "<--resume>" in words
    assert words[-1].strip("<> ") == "-dash"


def test_a_warning_is_a_question_on_a_terminal(shop: Shell) -> None:
    abandoned = shop.json("turns", API)["abandoned"][0]["id"]
    before = digests(shop)
    master, slave = pty.openpty()
    process = subprocess.Popen(
        prong("fork", f"{API}@{abandoned[:8]}"),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=shop.env(),
    )
    os.close(slave)
    shown = b""
    while b"Fork?" not in shown:
        shown += os.read(master, 4096)
    os.write(master, b"n\n")
    assert process.wait(30) == 130
    os.close(master)
    assert digests(shop) == before
    assert b"abandoned by a rewind" in shown


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_a_narrow_terminal(shop: Shell, columns: int) -> None:
    shown = on_terminal(shop, "fork", f"{API}@2", "--dry-run", size=(24, columns))
    *rows, command = shown.lines
    assert all(len(row) <= columns + 20 for row in rows)  # colours take no room
    assert "claude --resume" in command


def test_wait_alone_stands_before_a_session(shop: Shell) -> None:
    assert fork(shop, "--wait", f"{API}@1")
    assert fork(shop, "--wait", "5", f"{API}@1")
    assert fork(shop, f"{API}@1", "--wait")


def test_the_command_is_exact_whatever_is_in_it(shop: Shell) -> None:
    folder = shop.home.root / "a\nb'c"
    folder.mkdir()
    prompt = "two\nlines \x1b[31m 'quoted' \\ é \u2028"
    said = shop.ok("fork", f"{API}@1", "--into", str(folder), "--prompt", prompt)
    assert "\x1b" not in said
    line = said.splitlines()[-1].strip()
    done = subprocess.run(["bash", "-c", line], env=shop.env(), capture_output=True, check=True)
    shown = done.stdout.decode()
    assert shown.startswith(f"{folder}\n")
    assert f"<{prompt}>" in shown


@pytest.mark.parametrize("redirection", ["<&-", "2>&-", ">&-"])
def test_closed_streams(shop: Shell, redirection: str) -> None:
    line = f"{shlex.join(prong('fork', f'{API}@1'))} {redirection}"
    done = subprocess.run(["sh", "-c", line], env=shop.env(), capture_output=True, check=False)
    assert done.returncode == 0
    assert b"Traceback" not in done.stdout + done.stderr
    line = f"{shlex.join(prong('fork', f'{API}@1', '--prompt', '-'))} <&-"
    done = subprocess.run(["sh", "-c", line], env=shop.env(), capture_output=True, check=False)
    assert done.returncode == 2


def test_an_id_that_is_in_use_is_refused_by_every_method(shop: Shell) -> None:
    for words in (("--method", "native"), ()):
        problem = shop.problem(2, "fork", API, "--id", SEARCH, *words)
        assert problem["code"] == "taken"
        assert problem["hint"]
    assert shop.problem(2, "fork", f"{API}@0", "--id", SEARCH)["code"] == "taken"


def test_titles_do_not_pile_up(shop: Shell) -> None:
    first = fork(shop, f"{API}@2")
    second = fork(shop, f"{first['child']}@1")
    titles = {s["ref"]: s["title"] for s in shop.json("list", "--all")["sessions"]}
    assert titles[second["child"]] == "Rate limiting for the public API (fork @1)"


def test_the_size_before_a_compaction_is_that_of_the_words(shop: Shell) -> None:
    before = shop.json("fork", f"{API}@3", "--dry-run", "--before-compaction")["plan"]["tokens"]
    after = shop.json("fork", f"{API}@4", "--dry-run", "--before-compaction")["plan"]["tokens"]
    assert after >= before


def test_a_summary_of_another_file_is_no_choice(shop: Shell) -> None:
    """Its words are elsewhere, so it is kept in any case, and nothing is offered instead."""
    sample = shop.session(7)
    sample.compact("earlier: we chose tokens")
    sample.prompt("hello")
    sample.answer("hi")
    sample.write(shop.home.claude)
    assert shop.json("fork", f"{sample.id}@1", "--dry-run")["plan"]["warnings"] == []
    thread = Path(fork(shop, f"{sample.id}@1", "--agent", "codex")["path"])
    assert "earlier: we chose tokens" in thread.read_text()


def test_a_fork_lies_in_the_root_of_its_source(shop: Shell, tmp_path: Path) -> None:
    other = tmp_path / "laptop"
    sample = shop.session(7)
    sample.prompt("hello")
    sample.answer("hi")
    sample.write(other)
    config = paths.config_file()
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'[agents.claude]\nroots = ["{other}"]\n')
    made = fork(shop, sample.id)
    assert made["env"] == {"CLAUDE_CONFIG_DIR": str(other)}
    assert Path(made["path"]).is_relative_to(other)
    # A file from nowhere has no root of its own: the fork goes where the agent looks.
    config.unlink()
    made = fork(shop, str(next(other.rglob("*.jsonl"))))
    assert made["env"] == {}
    assert Path(made["path"]).is_relative_to(shop.home.claude)


def test_before_the_first_turn_into_another_agent(shop: Shell) -> None:
    made = fork(shop, f"{API}@0", "--agent", "codex")
    assert made["child"].startswith("codex:")
    assert fork(shop, f"codex:{PARSER}@0", "--agent", "claude")["path"] is None


def test_wait_is_not_taken_out_of_a_prompt(shop: Shell) -> None:
    assert fork(shop, f"{API}@1", "--prompt", "--wait")["command"][-1].strip() == "--wait"
    assert shop.problem(2, "fork", API, "--wait=-1")["code"] == "usage"


class TestCode:
    """What is said about the code. That it is right is in test_fork_code.py."""

    @pytest.fixture
    def code(self, shop: Shell) -> CodeLab:
        return CodeLab.make(shop)

    def rows(self, said: str) -> dict[str, str]:
        found = [line.strip().partition(" ") for line in said.splitlines()]
        return {name: text.strip() for name, _, text in found}

    def test_the_plan_and_the_fork_say_which(self, shop: Shell, code: CodeLab) -> None:
        plan = self.rows(shop.ok("fork", f"{API}@2", "--dry-run", "--branch", "try"))
        assert re.fullmatch(r"as at turn 2, [0-9a-f]{7} \(\+2 -0 in 2 files\)", plan["code"])
        assert plan["branch"] == "try"
        assert plan["folder"].startswith("~/.local/share/prong/worktrees/")
        assert plan["folder"].endswith("(a new worktree)")
        made = self.rows(shop.ok("fork", f"{API}@2", "--branch", "try"))
        assert (made["code"], made["branch"]) == (plan["code"], "try")
        assert Path(made["folder"].replace("~", str(shop.home.root))).is_dir()

    @pytest.mark.parametrize(
        ("words", "code_is"),
        [
            ([f"{API}@0"], "before the first turn, "),
            ([f"{API}@1", "--code-at", "2"], "as at turn 2, "),
            ([f"{API}@4"], "as at turn 4, "),
            ([f"{API}@1", "--code", "now"], "current code of ~/projects/shop"),
            ([f"{API}@1", "--code", "head"], "last commit of ~/projects/shop"),
            ([f"{API}@3"], "nearest commit, not exact: "),
        ],
    )
    def test_every_kind(self, shop: Shell, code: CodeLab, words: list[str], code_is: str) -> None:
        assert self.rows(shop.ok("fork", *words, "--dry-run"))["code"].startswith(code_is)

    def test_in_place_none_is_touched(self, shop: Shell, code: CodeLab) -> None:
        plan = self.rows(shop.ok("fork", f"{API}@2", "--no-worktree", "--dry-run"))
        assert plan["folder"] == "~/projects/shop (no code is touched)"
        assert "code" not in plan

    @pytest.mark.parametrize("words", [[], ["--json"], ["--code", "turn"]])
    def test_the_nearest_commit_is_not_taken_silently(
        self, shop: Shell, code: CodeLab, words: list[str]
    ) -> None:
        before = digests(shop)
        said = shop.fails(3, "fork", f"{API}@3", *words)
        assert "the nearest commit" in said
        assert "not exact" in said
        assert "--yes" in said
        assert digests(shop) == before

    def test_the_nearest_commit_when_somebody_says_so(self, shop: Shell, code: CodeLab) -> None:
        made = fork(shop, f"{API}@3", "--yes")
        assert made["code"] == "turn"
        assert made["branch"].startswith("prong/")
        assert any("not exact" in warning for warning in made["warnings"])

    @pytest.mark.parametrize(
        ("words", "shown"),
        [
            ([f"{API}@3"], "nearest commit, not exact"),
            ([f"{API}@2", "--code", "head"], "README.md, limits.py; commit first, or --code now"),
        ],
    )
    def test_on_a_terminal_it_is_asked(
        self, shop: Shell, code: CodeLab, words: list[str], shown: str
    ) -> None:
        before = digests(shop)
        with Tmux(shop.home.root, (80, 24)) as tmux:
            argv = ["sh", "-c", '"$@"; echo status $?; read -r end', "sh", *prong("fork", *words)]
            tmux.start(argv, shop.home.root, shop.env())
            screen = tmux.wait_for("Fork? [Y/n]")
            assert shown in " ".join(screen.split())
            tmux.send_text("n\n")
            tmux.wait_for("status 130")
        assert digests(shop) == before
