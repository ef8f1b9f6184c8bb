"""`prong diff`."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.code_lab import CodeLab, git
from tests.cli.shell import API, SEARCH, Shell, prong
from tests.cli.terminal import on_terminal, run_on_terminal

SECOND = """\
diff --git a/api/keys.py b/api/keys.py
new file mode 100644
index 0000000..c48af7d
--- /dev/null
+++ b/api/keys.py
@@ -0,0 +1 @@
+KEYS = []
diff --git a/limits.py b/limits.py
index b13d5e3..8b5a6c0 100644
--- a/limits.py
+++ b/limits.py
@@ -1 +1,2 @@
 LIMIT = 60
+REDIS = True
"""

_PAGE = (Path(__file__).parents[3] / "docs/reference/json.md").read_text(encoding="utf-8")
EXAMPLE: dict[str, Any] = json.loads(
    _PAGE.partition("\n## diff\n")[2].partition("```json\n")[2].partition("```")[0]
)
"""What the reference says that `--json` prints."""


@pytest.fixture
def code(shop: Shell) -> CodeLab:
    return CodeLab.make(shop)


def names(shell: Shell, *words: str) -> list[str]:
    return shell.ok("diff", *words, "--name-only").splitlines()


def without_ids(patch: str) -> list[str]:
    return [line for line in patch.splitlines() if not line.startswith("index ")]


class TestWhich:
    def test_what_a_turn_changed_whatever_was_committed(self, shop: Shell, code: CodeLab) -> None:
        assert without_ids(shop.ok("diff", f"{API}@2")) == without_ids(SECOND)

    def test_the_first_turn_from_before_it(self, shop: Shell, code: CodeLab) -> None:
        assert names(shop, f"{API}@1") == ["limits.py"]

    @pytest.mark.parametrize(
        ("turns", "files"),
        [
            ("1..2", ["api/keys.py", "limits.py"]),
            ("0..2", ["api/keys.py", "limits.py"]),
            ("..1", ["limits.py"]),
            ("2..", ["README.md", "limits.py"]),
            ("2..-1", ["README.md", "limits.py"]),
            ("0..4", ["README.md", "api/keys.py"]),
            ("2..2", []),
        ],
    )
    def test_from_the_end_of_a_turn_to_that_of_another(
        self, shop: Shell, code: CodeLab, turns: str, files: list[str]
    ) -> None:
        assert names(shop, f"{API}@{turns}") == files

    def test_backwards(self, shop: Shell, code: CodeLab) -> None:
        found = shop.json("diff", f"{API}@2..1")
        assert (found["added"], found["removed"]) == (0, 2)

    def test_a_whole_session(self, shop: Shell, code: CodeLab) -> None:
        assert shop.ok("diff", API) == shop.ok("diff", f"{API}@0..4")

    def test_the_path_of_a_session_file(
        self, shop: Shell, code: CodeLab, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        [path] = shop.home.claude.rglob(f"{API}.jsonl")
        folder = path.parent / "a..b"
        folder.mkdir()
        monkeypatch.chdir(folder)
        assert names(shop, f"../{path.name}@1") == ["limits.py"]
        assert names(shop, f"../{path.name}@1..2") == ["api/keys.py", "limits.py"]
        assert names(shop, f"../{path.name}") == ["README.md", "api/keys.py"]

    def test_two_forks(self, shop: Shell, code: CodeLab) -> None:
        made = shop.json("fork", f"{API}@2")["fork"]
        child = made["child"]
        workspace = Path(made["workspace"])
        (workspace / "limits.py").write_text("LIMIT = 99\n")
        code.keep(2, session=child.removeprefix("claude:"), folder=workspace)
        found = shop.json("diff", f"{API}@1", child)
        assert (found["from"], found["to"]) == (f"claude:{API}@1", f"{child}@2")
        assert [file["path"] for file in found["files"]] == ["api/keys.py", "limits.py"]
        assert shop.json("diff", f"{API}@1..{child}") == found
        assert shop.json("diff", f"{API}@1..{child}@2") == found
        # The worktree may go: the repository has it all the same.
        shutil.rmtree(workspace)
        assert shop.json("diff", f"{API}@1", child) == found

    def test_what_was_captured_of_a_session_and_what_was_not(
        self, samples: Shell, tmp_path: Path
    ) -> None:
        lab = CodeLab(samples, samples.home.projects / "shop")
        lab.folder.mkdir(parents=True)
        git(lab.folder, "init", "--quiet")
        for number in (2, 3):
            lab.write("a.txt", f"{number}\n")
            lab.keep(number)
        result = samples.run("diff", API, "--name-only")
        assert result.stdout == "a.txt\n"
        assert result.stderr.splitlines() == [
            "note: from turn 2 on: nothing was captured before",
            "note: up to turn 3: nothing was captured since",
        ]


class TestPipe:
    def test_git_applies_it(self, shop: Shell, code: CodeLab, tmp_path: Path) -> None:
        """Binary files, odd names, modes, links, lines that look like a header."""
        code.write("bild.bin", bytes(range(256)) * 9)
        code.write("übung 'x'\n.txt", b"\xff\x1b[31m\r\n")
        code.write("run.sh", "#!/bin/sh\n").chmod(0o755)
        code.write("dash", "-- a/old\n++ b/new\n")
        (code.folder / "link").symlink_to("README.md")
        code.keep(3)
        (code.folder / "run.sh").rename(code.folder / "go.sh")
        code.write("dash", "-- a/new\n")
        code.write("bild.bin", bytes(range(256)))
        # The fourth turn has its code already, from before all this.
        for turns in ("1..3", "3..4", "0..3"):
            before, after = turns.split("..")
            there = tmp_path / turns
            self._checked_out(shop, there, before)
            patch = shop.process("diff", f"{API}@{turns}").stdout
            git(there, "apply", "--index", given=patch)
            assert git(there, "write-tree").decode().strip() == self._tree(shop, after)

    def _tree(self, shell: Shell, turn: str) -> str:
        found = shell.json("diff", f"{API}@0..{turn}")["to_snapshot"]
        folder = shell.home.projects / "shop"
        return git(folder, "rev-parse", f"{found}^{{tree}}").decode().strip()

    def _checked_out(self, shell: Shell, there: Path, turn: str) -> None:
        folder = shell.home.projects / "shop"
        git(folder, "worktree", "add", "--quiet", "--detach", "--no-checkout", str(there))
        git(there, "read-tree", "--reset", "-u", self._tree(shell, turn))

    def test_it_may_be_left_early(self, shop: Shell, code: CodeLab) -> None:
        code.write("long.txt", "line\n" * 300_000)
        code.keep(3)
        with subprocess.Popen(
            prong("diff", f"{API}@3"),
            env=shop.env(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as reading:
            assert reading.stdout
            assert reading.stderr
            reading.stdout.read(10)
            reading.stdout.close()
            assert reading.stderr.read() == b""
            assert reading.wait(60) == 0

    def test_no_program_of_the_user_runs(
        self, shop: Shell, code: CodeLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trace = tmp_path / "ran"
        for setting in ("textconv", "command"):
            git(code.folder, "config", f"diff.own.{setting}", f"touch {trace}; cat")
        git(code.folder, "config", "diff.external", f"touch {trace}; true")
        git(code.folder, "config", "diff.noprefix", "true")
        git(code.folder, "config", "color.ui", "always")
        (code.folder / ".git/info/attributes").write_text("*.py diff=own\n")
        monkeypatch.setenv("GIT_EXTERNAL_DIFF", f"touch {trace}")
        assert without_ids(shop.ok("diff", f"{API}@2")) == without_ids(SECOND)
        assert not trace.exists()

    def test_nothing_is_touched(self, shop: Shell, code: CodeLab) -> None:
        index = code.folder / ".git/index"
        before = index.read_bytes(), index.stat().st_mtime_ns, git(code.folder, "for-each-ref")
        shop.ok("diff", API)
        after = index.read_bytes(), index.stat().st_mtime_ns, git(code.folder, "for-each-ref")
        assert after == before


class TestShapes:
    def test_stat(self, shop: Shell, code: CodeLab) -> None:
        assert shop.ok("diff", f"{API}@2..4", "--stat").splitlines() == [
            " README.md        | 1 +",
            " limits.py (gone) | 2 --",
            " 2 files changed, +1 -2",
        ]

    @pytest.mark.parametrize("columns", [20, 40, 80])
    def test_a_stat_fits(self, shop: Shell, code: CodeLab, columns: int) -> None:
        code.write(f"{'日本' * 30}.txt", "x\n" * 500)
        code.write("small", "x\n")
        code.keep(3)
        shown = shop.ok("diff", f"{API}@3", "--stat", COLUMNS=str(columns))
        from prong.views.text import cells

        assert all(cells(line) <= columns for line in shown.splitlines())
        assert "…" in shown

    def test_json(self, shop: Shell, code: CodeLab) -> None:
        code.write("bild.bin", b"\0\1")
        (code.folder / "api/keys.py").rename(code.folder / "api/all.py")
        code.keep(3)
        found = shop.json("diff", f"{API}@2..3")
        assert list(found) == list(EXAMPLE)
        assert list(found["files"][0]) == list(EXAMPLE["files"][0])
        assert [found[name] for name in ("from", "to")] == [f"claude:{API}@2", f"claude:{API}@3"]
        files: dict[str, dict[str, Any]] = {file["path"]: file for file in found["files"]}
        assert files["bild.bin"]["binary"]
        assert files["bild.bin"]["status"] == "added"
        assert files["limits.py"] == {
            "path": "limits.py",
            "old_path": None,
            "status": "deleted",
            "added": 0,
            "removed": 2,
            "binary": False,
        }
        renamed = files["api/all.py"]
        assert (renamed["status"], renamed["old_path"]) == ("renamed", "api/keys.py")
        assert (found["added"], found["removed"]) == (1, 2)
        assert "patch" not in found
        patch = shop.json("diff", f"{API}@2", "--patch")["patch"]
        assert without_ids(patch) == without_ids(SECOND)

    def test_only_some_paths(
        self, shop: Shell, code: CodeLab, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = ["api/keys.py", "limits.py"]
        for path, files in (
            ("api", ["api/keys.py"]),
            ("limits.py", ["limits.py"]),
            (".", whole),
            (str(code.folder / "api"), ["api/keys.py"]),
            ("*.py", []),
        ):
            words = ("diff", f"{API}@2", "--name-only", "--", path)
            assert shop.ok(*words).splitlines() == files
        monkeypatch.chdir(code.folder / "api")
        words = ("diff", f"{API}@2", "--name-only", "--")
        assert shop.ok(*words, "keys.py").splitlines() == ["api/keys.py"]
        assert shop.ok(*words, "..").splitlines() == whole
        assert "outside the repository" in shop.fails(2, *words, "../../x")

    def test_options_that_do_not_go_together(self, shop: Shell, code: CodeLab) -> None:
        assert "not both" in shop.fails(2, "diff", API, "--stat", "--name-only")
        assert "--json" in shop.fails(2, "diff", API, "--patch")

    def test_repositories_inside_are_compared_as_well(self, shop: Shell, code: CodeLab) -> None:
        inner = code.folder / "vendor"
        git(code.folder, "init", "--quiet", "vendor")
        code.write("vendor/a.txt", "one\n")
        code.keep(3)
        found = shop.json("diff", f"{API}@2..3")
        assert "vendor/a.txt" in [file["path"] for file in found["files"]]
        assert "+++ b/vendor/a.txt" in shop.ok("diff", f"{API}@2..3")
        words = ("diff", f"{API}@2..3", "--name-only", "--")
        for path in ("vendor", "vendor/a.txt"):
            assert shop.ok(*words, path) == "vendor/a.txt\n"
        shutil.rmtree(inner)
        [note] = shop.json("diff", f"{API}@2..3")["notes"]
        assert note == "the repository in vendor/ cannot be compared"


class TestRefusals:
    def test_a_turn_without_code(self, shop: Shell, code: CodeLab) -> None:
        problem = shop.problem(3, "diff", f"{API}@3")
        assert problem["message"] == f"no code captured at turn 3 of claude:{API}"
        assert "there is code of turns 0-2, 4" in problem["hint"]
        assert "prong hooks install" in problem["hint"]

    def test_a_turn_behind_one_without_code(self, shop: Shell, code: CodeLab) -> None:
        problem = shop.problem(3, "diff", f"{API}@4")
        assert "at the turn before 4" in problem["message"]
        assert f"prong diff claude:{API}@2..4" in problem["hint"]

    def test_no_turn_at_all_has_code(self, shop: Shell, code: CodeLab) -> None:
        for words in ([SEARCH], [f"{SEARCH}@1"], [f"{API}@1", SEARCH]):
            problem = shop.problem(3, "diff", *words)
            assert "no code captured at any turn" in problem["message"]
            assert "prong hooks install" in problem["hint"]

    def test_no_git(self, shop: Shell) -> None:
        assert "is not in a git repository" in shop.problem(3, "diff", API)["message"]

    def test_before_the_first_turn(self, shop: Shell, code: CodeLab) -> None:
        assert "before the first prompt" in shop.fails(2, "diff", f"{API}@0")

    def test_an_abandoned_turn_has_no_turn_before_it(self, shop: Shell, code: CodeLab) -> None:
        id_ = shop.json("turns", API)["abandoned"][0]["id"]
        assert f"@A..{id_}" in shop.problem(2, "diff", f"{API}@{id_}")["hint"]

    def test_the_repository_is_gone(self, shop: Shell, code: CodeLab) -> None:
        assert shop.ok("diff", API)
        shutil.rmtree(code.folder)
        assert f"no longer exists: {code.folder}" in shop.problem(3, "diff", API)["message"]

    def test_the_snapshots_are_gone(self, shop: Shell, code: CodeLab) -> None:
        assert shop.ok("diff", API)
        shutil.rmtree(code.folder / ".git")
        git(code.folder, "init", "--quiet")
        assert "no code captured" in shop.problem(3, "diff", API)["message"]

    def test_two_repositories(self, shop: Shell, code: CodeLab) -> None:
        other = shop.home.projects / "other"
        sample = shop.session(7, cwd=str(other))
        sample.prompt("Hello")
        sample.answer("Done.")
        sample.write(shop.home.claude)
        git(shop.home.projects, "init", "--quiet", "other")
        (other / "a.txt").write_text("a\n")
        code.keep(1, session=sample.id, folder=other)
        problem = shop.problem(2, "diff", f"{API}@1", sample.id)
        assert "different repositories" in problem["message"]

    def test_no_session_behind_the_dots(self, shop: Shell, code: CodeLab) -> None:
        assert "no turn 9" in shop.fails(3, "diff", f"{API}@1..9")
        assert "no session" in shop.fails(3, "diff", f"{API}@1..claude:ffff")


class TestTerminal:
    def test_colours_and_a_title(self, shop: Shell, code: CodeLab) -> None:
        shown = on_terminal(shop, "diff", f"{API}@2", PAGER="cat").output
        first, prompt, *_ = shown.splitlines()
        assert f"claude:{API}@2  +2 -0 in 2 files" in first
        assert "Keep the counters in Redis" in prompt
        assert "\x1b[32m+REDIS = True\x1b[0m" in shown
        assert "\x1b[36m@@ -1 +1,2 @@\x1b[0m" in shown
        plain = on_terminal(shop, "diff", f"{API}@2", PAGER="cat", NO_COLOR="1").output
        assert "\x1b" not in plain
        assert plain.replace("\r", "").endswith("+REDIS = True\n")

    def test_what_stands_in_files_is_not_obeyed(self, shop: Shell, code: CodeLab) -> None:
        code.write("evil.txt", b"\x1b[31mred\x1b]0;title\x07\x9b2J\r\n--- a\n+++ b\n@@ -1 +1 @@\n")
        code.write("\x1b[31mevil\x07.txt", "x\n")
        code.keep(3)
        for words in ([], ["--stat"], ["--name-only"], ["--no-pager"]):
            shown = on_terminal(shop, "diff", f"{API}@3", *words, PAGER="cat", NO_COLOR="1").output
            assert not {"\x1b", "\x07", "\x9b"} & set(shown)
        raw = shop.process("diff", f"{API}@3").stdout
        assert b"+\x1b[31mred\x1b]0;title\x07\x9b2J\r\n" in raw

    def test_the_pager_is_the_person_s_and_never_the_repository_s(
        self, shop: Shell, code: CodeLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def pagers(**env: str) -> list[str]:
            env["GIT_CONFIG_GLOBAL"] = str(settings)
            shown = run_on_terminal(shop, prong("diff", f"{API}@2"), (24, 80), **env)
            assert shown.status == 0
            return [word for word in ("one", "two", "three", "four") if f"<{word}>" in shown.output]

        def pager(word: str) -> str:
            return f"cat >/dev/null; echo '<{word}>'"

        def set_(name: str, value: str) -> None:
            git(code.folder, "config", "--file", str(settings), name, value)

        settings = tmp_path / "settings"
        monkeypatch.chdir(code.folder)
        one = pager("one")
        assert pagers(PAGER=one) == ["one"]
        assert pagers(PAGER=one, GIT_PAGER=pager("four")) == ["four"]
        for name in ("core.pager", "pager.diff"):
            git(code.folder, "config", name, pager("four"))
        assert pagers(PAGER=one) == ["one"]
        set_("core.pager", pager("two"))
        assert pagers(PAGER=one) == ["two"]
        set_("pager.diff", pager("three"))
        assert pagers(PAGER=one) == ["three"]
        assert pagers(PAGER=one, GIT_PAGER=pager("four")) == ["four"]
        set_("pager.diff", "false")
        assert pagers(PAGER=one) == []
        assert "<" not in on_terminal(shop, "diff", f"{API}@2", "--no-pager", PAGER=one).output

    @pytest.mark.parametrize("pager", ["true", "head -n 1", "no-such-pager-anywhere"])
    def test_a_pager_that_is_left_early_or_missing(
        self, shop: Shell, code: CodeLab, pager: str
    ) -> None:
        code.write("long.txt", "line\n" * 100_000)
        code.keep(3)
        shown = on_terminal(shop, "diff", f"{API}@3", PAGER=pager)
        assert shown.status == 0
        assert "Traceback" not in shown.output
        assert (shown.output.count("line") > 1000) == pager.startswith("no-such")

    def test_less_when_nothing_is_said(self, shop: Shell, code: CodeLab) -> None:
        less = shop.home.root / "bin/less"
        less.write_text('#!/bin/sh\necho "<$LESS>"\ncat\n')
        less.chmod(0o755)
        shown = on_terminal(shop, "diff", f"{API}@2")
        assert shown.status == 0
        assert shown.output.startswith("<FRX>")
        assert "+REDIS = True" in shown.output

    def test_nothing_changed(self, shop: Shell, code: CodeLab) -> None:
        assert "no code changes" in on_terminal(shop, "diff", f"{API}@2..2").output
        assert shop.run("diff", f"{API}@2..2").output == ""
