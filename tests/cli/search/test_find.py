"""`prong find`: what is found, how it is told, and what can be typed next."""

import inspect
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from prong.errors import UsageError
from prong.model.record import replace
from prong.model.search import IndexProgress, IndexState, SearchResult
from prong.search.service import SearchService
from tests.cli.shell import API, PARSER, SEARCH, WINDOW, Shell
from tests.cli.shell import prong as prong_words
from tests.cli.terminal import on_terminal, run_on_terminal

COUNTERS = "share the request counters between workers"
SECRET = "ghp_" + "a1B2c3D4e5" * 4


def refs(shell: Shell, *words: str, **env: str) -> list[str]:
    return [hit["ref"] for hit in shell.json("find", *words, **env)["hits"]]


def altered(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> None:
    """Let searches answer as they do, but for this."""
    find = SearchService.find

    def answer(*given: Any, **options: Any) -> SearchResult:
        return replace(find(*given, **options), **fields)

    monkeypatch.setattr(SearchService, "find", answer)


def test_the_turn_comes_first(samples: Shell) -> None:
    assert refs(samples, COUNTERS)[0] == f"claude:{API}@2"
    assert refs(samples, *COUNTERS.split())[0] == f"claude:{API}@2"
    assert refs(samples, "decimal comma in price lists")[0] == f"codex:{PARSER}@2"


def test_a_turn_of_several_sessions_is_one_hit(samples: Shell) -> None:
    [first, *rest] = samples.json("find", COUNTERS)["hits"]
    assert first["also"] == [f"claude:{WINDOW}@2"]
    assert f"claude:{WINDOW}@2" not in [hit["ref"] for hit in rest]
    text = samples.ok("find", COUNTERS)
    assert "also in claude:7d1c44a2@2" in text


def test_a_hit_is_a_block_of_lines(samples: Shell) -> None:
    lines = samples.ok("find", COUNTERS, "-n", "1").splitlines()
    assert re.fullmatch(r"%1  [01]\.\d\d  claude:60309e1e@2  4h ago  ~/projects/shop", lines[0])
    assert lines[1] == "    Keep the counters in Redis, so that all workers share them"
    assert all(line.startswith("    ") for line in lines[1:])


def test_the_last_words_say_what_to_type(samples: Shell) -> None:
    assert samples.run("find", COUNTERS).stderr.splitlines()[-1].endswith("prong fork %1")


def test_json(samples: Shell) -> None:
    found = samples.json("find", COUNTERS, "--limit", "2")
    assert found["query"] == COUNTERS
    assert (found["engine"], found["fallback_used"], found["guidance"]) == ("builtin", False, None)
    assert found["attempts"][0]["engine"] == "builtin"
    index = found["index"]
    assert (index["sessions"], index["complete"], index["age_s"] < 60) == (5, True, True)
    assert [hit["rank"] for hit in found["hits"]] == [1, 2]
    assert found["total"] >= 2
    hit = found["hits"][0]
    assert hit["session"] == f"claude:{API}"
    assert (hit["agent"], hit["session_id"], hit["turn"]) == ("claude", API, 2)
    assert hit["prompt"].startswith("Keep the counters")
    assert hit["cwd"].endswith("projects/shop")
    assert Path(hit["path"]).is_file()
    assert 0 < hit["score"] <= 1
    assert hit["can_fork"] is True
    assert hit["snippet"]
    assert all(hit["snippet"][begin:end] for begin, end in hit["marks"])


# -- narrowing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["--agent", "codex"], ["-a", "codex"], ["agent:codex"]])
def test_agent(samples: Shell, words: list[str]) -> None:
    found = refs(samples, "tests pass", *words)
    assert found
    assert all(ref.startswith("codex:") for ref in found)


@pytest.mark.parametrize("words", [["--since", "2d"], ["since:2d"]])
def test_since(samples: Shell, words: list[str]) -> None:
    assert f"claude:{SEARCH}@1" in refs(samples, "slow product search")
    assert f"claude:{SEARCH}@1" not in refs(samples, "slow product search", *words)


@pytest.mark.parametrize("words", [["--file", "conftest.py"], ["file:tests/conftest.py"]])
def test_file(samples: Shell, words: list[str]) -> None:
    assert refs(samples, "redis", *words) == [f"claude:{API}@3"]


def test_a_file_alone_is_enough(samples: Shell) -> None:
    assert refs(samples, "file:conftest.py") == [f"claude:{API}@3"]


@pytest.mark.parametrize("option", ["--project", "project:"])
def test_project(shell: Shell, option: str) -> None:
    inside = shell.simple(1, "Add limits", cwd="/srv/shop/web")
    shell.simple(2, "Add limits", cwd="/srv/other")
    for name in ("/srv/shop", "shop"):
        words = [option, name] if option == "--project" else [option + name]
        assert refs(shell, "limits", *words) == [f"claude:{inside}@1"]


def test_two_projects_of_a_name_are_told(shell: Shell) -> None:
    shell.simple(1, "Add limits", cwd="/srv/shop", age=5)
    newer = shell.simple(2, "Add limits", cwd="/home/shop")
    found = shell.json("find", "limits", "project:shop")
    assert [hit["session_id"] for hit in found["hits"]] == [newer]
    assert found["notes"] == ["the project shop is /home/shop; of the same name: /srv/shop"]


def test_an_option_overrules_a_word(samples: Shell) -> None:
    result = samples.run("find", "redis", "agent:codex", "--agent", "claude", "--json")
    found = json.loads(result.stdout)
    assert found["filters"]["agent"] == "claude"
    assert found["notes"] == ["agent: in the query is ignored: the option takes precedence"]


def test_words_that_are_no_filters_are_told(samples: Shell) -> None:
    result = samples.run("find", "redis", "agent:cursor")
    assert result.stdout
    assert "agent:cursor is searched as text" in result.stderr


def test_an_unknown_agent_is_named_beside_the_known_ones(samples: Shell) -> None:
    assert "claude, codex" in samples.fails(3, "find", "redis", "--agent", "cursor")


def test_limit_and_min_score(samples: Shell) -> None:
    found = samples.json("find", "redis tests", "-n", "1")
    assert len(found["hits"]) == 1
    if found["total"] > 1:
        more = f"{found['total'] - 1} more: --limit {found['total']}"
        assert more in samples.run("find", "redis tests", "-n", "1").stderr
    best = found["hits"][0]["score"]
    assert len(refs(samples, "redis tests", "--min-score", str(round(best - 0.01, 3)))) >= 1
    for hit in samples.json("find", "redis tests", "--min-score", "0.5")["hits"]:
        assert hit["score"] >= 0.5


def test_sessions(samples: Shell) -> None:
    found = samples.json("find", "redis tests", "--sessions")
    sessions = [hit["session"] for hit in found["hits"]]
    assert len(set(sessions)) == len(sessions)
    assert "Rate limiting for the public API" in samples.ok("find", "redis tests", "--sessions")


def test_fast(samples: Shell) -> None:
    found = samples.json("find", "redis counters", "--fast")
    assert found["hits"][0]["ref"] == f"claude:{API}@2"
    assert found["fallback_used"] is False
    assert "skipped" not in samples.run("find", "redis counters", "--fast").stderr


def test_without_snippets(samples: Shell) -> None:
    [hit, *_] = samples.json("find", "INCR and EXPIRE", "--no-snippets")["hits"]
    assert (hit["snippet"], hit["marks"]) == (None, [])
    assert "INCR" in samples.ok("find", "INCR and EXPIRE")
    assert "INCR" not in samples.ok("find", "INCR and EXPIRE", "--no-snippets")


# -- nothing found ------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [[], [""], ["  ", "\n"]])
def test_nothing_to_look_for(samples: Shell, words: list[str]) -> None:
    said = samples.fails(2, "find", *words)
    assert "the search is empty" in said
    assert 'try: prong find "' in said


def test_filters_alone_are_no_search(samples: Shell) -> None:
    assert "prong list" in samples.fails(2, "find", "agent:codex", "since:3d")


def test_nothing_found_says_what_was_searched(samples: Shell) -> None:
    result = samples.run("find", "zyzzyva", "--fast", "--agent", "codex")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "nothing found for 'zyzzyva' (--agent codex)" in result.stderr
    assert "searched 5 sessions with" in result.stderr
    assert "without --agent" in result.stderr
    assert samples.json("find", "zyzzyva", "--fast")["hits"] == []


def test_no_sessions_at_all(shell: Shell) -> None:
    result = shell.run("find", "limits")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no sessions under" in result.stderr
    assert "prong demo" in result.stderr


def test_an_index_that_is_behind_is_told(samples: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    altered(monkeypatch, index=IndexState(5, 12, 3.0, behind=2))
    result = samples.run("find", COUNTERS)
    assert result.stdout
    assert result.stderr.count("not in the index yet") == 1
    assert samples.json("find", COUNTERS)["index"]["complete"] is False


# -- secrets and escapes ------------------------------------------------------------------------


def test_secrets_are_masked(shell: Shell) -> None:
    session = shell.session(1)
    session.prompt(f"Deploy with {SECRET} please")
    session.answer(f"Deployed with {SECRET} and it works.")
    session.write(shell.home.claude)
    for words in (("deploy",), ("deploy", "--json")):
        assert SECRET not in shell.ok("find", *words)
        assert SECRET in shell.ok("find", *words, "--no-mask")


def test_nothing_that_a_terminal_would_obey(shell: Shell) -> None:
    session = shell.session(1)
    session.prompt("Deploy \x1b[2J the \x9b31m shop")
    session.answer("Deployed \x1b]0;x\x07 it.")
    session.write(shell.home.claude)
    for words in (("deploy",), ("deploy", "--json")):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shell.ok("find", *words))


# -- %N -----------------------------------------------------------------------------------------


def test_hits_are_sessions_for_every_command(samples: Shell) -> None:
    assert "no search was made in this terminal yet" in samples.fails(3, "show", "%1")
    found = samples.json("find", COUNTERS, "redis")["hits"]
    assert len(found) > 1
    for number, hit in enumerate(found[:3], start=1):
        shown = samples.json("turns", f"%{number}")
        assert shown["session"]["id"] == hit["session_id"]
        assert samples.ok("show", f"%{number}") == samples.ok("show", hit["ref"])


def test_another_turn_of_a_hit(samples: Shell) -> None:
    samples.ok("find", COUNTERS)
    assert samples.ok("show", "%1@1") == samples.ok("show", f"{API}@1")
    assert samples.ok("show", "%1@-1") == samples.ok("show", f"{API}@-1")


@pytest.mark.parametrize("name", ["%99", "%0"])
def test_a_hit_that_there_is_not(samples: Shell, name: str) -> None:
    count = len(refs(samples, COUNTERS))
    said = samples.fails(3, "fork", name)
    assert f"{name}: the last search had {count} hits" in said
    assert f"%1 to %{count}" in said


@pytest.mark.parametrize("name", ["%", "%x", "%-1", "%1%", "% 1", "%٣"])
def test_what_is_no_number(samples: Shell, name: str) -> None:
    samples.ok("find", COUNTERS)
    assert "is not a search hit" in samples.fails(3, "show", name)


def test_after_a_search_that_found_nothing(samples: Shell) -> None:
    samples.ok("find", COUNTERS)
    samples.ok("find", "zyzzyva", "--fast")
    assert "the last search found nothing" in samples.fails(3, "show", "%1")


def test_a_session_that_was_deleted_since(samples: Shell) -> None:
    [path] = [Path(hit["path"]) for hit in samples.json("find", COUNTERS, "-n", "1")["hits"]]
    path.unlink()
    assert f"%1 is gone since the search: no session claude:{API}" in samples.fails(3, "show", "%1")


def test_a_session_is_resumed_at_its_end(shop: Shell) -> None:
    shop.ok("find", COUNTERS)
    result = shop.run("resume", "%1")
    assert result.exit_code == 0, result.stderr
    assert f"claude --resume {API}" in result.stdout
    assert "prong fork %1" in result.stderr
    assert "a session can only be resumed at its end" in shop.fails(2, "resume", "%1@1")


def test_each_pane_has_its_own(samples: Shell) -> None:
    one, other = {"TMUX": "/s,1,0", "TMUX_PANE": "%1"}, {"TMUX": "/s,1,0", "TMUX_PANE": "%2"}
    samples.ok("find", COUNTERS, **one)
    samples.ok("find", "decimal comma in price lists", **other)
    assert samples.json("turns", "%1", **one)["session"]["id"] == API
    assert samples.json("turns", "%1", **other)["session"]["id"] == PARSER


def test_a_turn_that_a_rewind_left_can_be_named(samples: Shell) -> None:
    hits = samples.json("find", "forget redis, use the database instead")["hits"]
    [number] = [hit["rank"] for hit in hits if hit["session_id"] == API and hit["turn"] is None]
    assert hits[number - 1]["ref"] == f"claude:{API}@{hits[number - 1]['turn_id']}"
    assert "use the database" in samples.ok("show", f"%{number}")


# -- forking at once ----------------------------------------------------------------------------


def test_fork_at_the_first_hit(shop: Shell) -> None:
    result = shop.run("find", COUNTERS, "--fork")
    assert result.stdout.startswith(f"forked claude:{API}@2 into claude:")
    assert result.stderr.startswith("%1  ")
    assert "%2" not in result.stderr


def test_fork_at_another_hit(shop: Shell) -> None:
    second = shop.json("find", COUNTERS, "redis")["hits"][1]
    for words in (("--fork", "2"), ("--fork=2",)):
        answer = shop.json("find", COUNTERS, "redis", *words, "--dry-run")
        assert answer["plan"]["parent"] == second["ref"]
        assert len(answer["hits"]) > 1


def test_a_word_behind_fork_is_no_number(shop: Shell) -> None:
    assert "from    claude:60309e1e" in shop.ok("find", "--fork", *COUNTERS.split(), "--dry-run")


def test_the_options_of_the_fork(shop: Shell) -> None:
    into = shop.home.root / "elsewhere"
    into.mkdir()
    words = ("--into", str(into), "--prompt", "Use a token bucket", "--yes")
    made = shop.json("find", COUNTERS, "--fork", *words)
    assert made["hits"][0]["rank"] == 1
    assert made["fork"]["workspace"] == str(into)
    assert made["fork"]["command"][-1] == "Use a token bucket"
    assert made["fork"]["parent"] == f"claude:{API}@2"


@pytest.mark.parametrize("words", [["--dry-run"], ["--into", "x"], ["--exec"], ["--yes"]])
def test_options_of_a_fork_want_a_fork(samples: Shell, words: list[str]) -> None:
    said = samples.fails(2, "find", COUNTERS, *words)
    assert f"{words[0]} needs a fork" in said
    assert f"--fork {words[0]}" in said


def test_no_such_hit_to_fork_at(shop: Shell) -> None:
    before = len(shop.json("list")["sessions"])
    assert "no hit 99: the search found" in shop.fails(3, "find", COUNTERS, "--fork", "99")
    assert "nothing found for 'zyzzyva'" in shop.fails(3, "find", "zyzzyva", "--fast", "--fork")
    assert shop.problem(3, "find", "zyzzyva", "--fast", "--fork")["code"] == "not_found"
    assert len(shop.json("list")["sessions"]) == before


def test_a_hit_that_cannot_be_forked(shop: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    find = SearchService.find

    def answer(*given: Any, **options: Any) -> SearchResult:
        result = find(*given, **options)
        gone = replace(result.hits[0], session=None, warning="the session file is gone")
        return replace(result, hits=(gone, *result.hits[1:]))

    monkeypatch.setattr(SearchService, "find", answer)
    assert "hit 1 cannot be forked: the session file is gone" in shop.fails(
        3, "find", COUNTERS, "--fork"
    )
    assert "no longer exists" in shop.fails(3, "fork", "%1")
    assert shop.run("find", COUNTERS).stderr.splitlines()[-1].endswith("prong fork %2")


# -- terminals ----------------------------------------------------------------------------------


def test_on_a_terminal_matches_are_bold(samples: Shell) -> None:
    shown = on_terminal(samples, "find", "redis counters")
    assert shown.status == 0
    assert "\x1b[1mcounters\x1b[0m" in shown.output
    plain = on_terminal(samples, "find", "redis counters", NO_COLOR="1")
    assert "\x1b[" not in plain.output


@pytest.mark.parametrize("columns", [24, 40, 80])
def test_lines_fit_the_terminal(samples: Shell, columns: int) -> None:
    shown = on_terminal(samples, "find", COUNTERS, size=(24, columns), NO_COLOR="1")
    table = shown.output.partition("fork a hit")[0]
    assert "%1" in table
    assert max(len(line) for line in table.splitlines()) <= columns


def test_a_search_and_a_command_in_the_same_terminal(samples: Shell) -> None:
    # Both are children of this process, in its session.
    assert samples.process("find", COUNTERS).returncode == 0
    done = samples.process("turns", "%1", "--json")
    assert json.loads(done.stdout)["session"]["id"] == API


def test_a_cache_that_cannot_be_written(samples: Shell) -> None:
    (samples.home.root / ".cache" / "prong").mkdir(parents=True, exist_ok=True)
    (samples.home.root / ".cache" / "prong" / "searches").write_text("in the way")
    result = samples.run("find", COUNTERS)
    assert result.exit_code == 0
    assert "%1" not in result.stderr
    assert "could not be saved" in result.stderr


def test_python(samples: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    import prong

    found = prong.find(COUNTERS, limit=1)
    [hit] = found.hits
    assert hit.turn
    assert str(hit.ref) == f"claude:{API}"
    assert (hit.turn.index, hit.can_fork) == (2, True)
    assert prong.find("agent:codex tests").query.agent == "codex"
    assert prong.find("tests", project="/nowhere").hits == ()
    with pytest.raises(prong.ProngError, match="the search is empty"):
        prong.find(" ")


def test_python_says_what_makes_no_sense(samples: Shell) -> None:
    import prong

    assert prong.find("redis", since="3650d", fast=True).hits
    assert prong.find("redis", since="0m", fast=True).hits == ()
    for wrong, told in (
        ({"since": "soon"}, "not a time"),
        ({"limit": 0}, "at least 1"),
        ({"files": "a.py"}, "a list"),
    ):
        given: dict[str, Any] = wrong
        with pytest.raises(UsageError, match=told):
            prong.find("redis", **given)
    with pytest.raises(TypeError, match="file"):
        prong.find("redis", file="a.py")  # pyright: ignore[reportCallIssue]
    assert "min_score" in str(inspect.signature(prong.find))


# -- a terminal ---------------------------------------------------------------------------------


def many(shell: Shell) -> None:
    for number in range(1, 13):
        shell.simple(number, f"Limits  of number {number}", cwd=f"/srv/{number}")


def test_the_best_hit_stays_on_the_screen(shell: Shell) -> None:
    many(shell)
    shown_text = on_terminal(shell, "find", "limits", "--fast", size=(16, 80), NO_COLOR="1")
    lines = shown_text.lines
    assert len(lines) <= 16
    assert lines[0].startswith("%1 ")
    shown = sum(line.startswith("%") for line in lines)
    assert 3 < shown < 10
    assert f"{12 - shown} more: --limit 10 shows the best 10" in lines
    # Who says how many gets so many, and so does a pipe.
    assert "%9 " in on_terminal(shell, "find", "limits", "--fast", "-n", "9").output
    assert "%10 " in shell.ok("find", "limits", "--fast")


def test_a_pager_shows_no_line_about_forks(shell: Shell) -> None:
    many(shell)
    line = shlex.join(prong_words("find", "limits", "--fast"))
    shown = run_on_terminal(shell, ["/bin/sh", "-c", f"{line} | cat"])
    assert shown.status == 0
    assert "%1 " in shown.output
    assert "fork a hit" not in shown.output


def test_the_limit_is_in_the_help(shell: Shell) -> None:
    assert re.search(r"--limit.*\[default:\s+10", shell.ok("find", "--help"), re.DOTALL)


def test_ctrl_c_says_that_what_was_read_is_kept(
    samples: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: Any, on_progress: Any, **__: Any) -> SearchResult:
        on_progress(IndexProgress("sessions", 1, 2))
        raise KeyboardInterrupt

    monkeypatch.setattr(SearchService, "find", stopped)
    result = samples.run("find", "redis")
    assert (result.exit_code, result.stdout) == (130, "")
    assert "what was read is kept" in result.stderr


# -- from a Windows -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["D:\\code\\Posh", "d:/code", "posh", "Posh"])
def test_a_project_of_a_windows(shell: Shell, name: str) -> None:
    shell.simple(1, "Limits here", cwd="D:\\code\\Posh")
    shell.simple(2, "Limits there", cwd="/srv/other")
    for words in (["--project", name], [f"project:{name}"]):
        [hit] = shell.json("find", "limits", *words, "--fast")["hits"]
        assert hit["prompt"] == "Limits here"
    out = shell.home.root / "out"
    shell.ok("export", str(out), "--project", name)
    [path] = out.glob("*/*.md")
    assert "\nRepo: Posh\n" in path.read_text()


@pytest.mark.parametrize(
    "name", ["limit.go", "src/limit.go", "SRC\\limit.go", "D:\\code\\src\\limit.go", "src\\"]
)
def test_a_file_of_a_windows(shell: Shell, name: str) -> None:
    sample = shell.session(1, cwd="D:\\code")
    sample.prompt("Limits here")
    sample.tools(("Write", {"file_path": "D:\\code\\src\\limit.go", "content": "x"}, "ok"))
    sample.answer("Done.")
    sample.write(shell.home.claude)
    shell.simple(2, "Limits there")
    for words in (["--file", name], [f"file:{name}"]):
        [hit] = shell.json("find", "limits", *words, "--fast")["hits"]
        assert hit["prompt"] == "Limits here"


def test_a_pattern_is_told_to_be_none(samples: Shell) -> None:
    assert "*.go is not a pattern" in samples.run("find", "redis", "file:*.go").stderr


def test_has_snapshot_as_a_word(samples: Shell) -> None:
    assert samples.json("find", "redis", "has:snapshot")["filters"]["has_snapshot"] is True
    [note] = samples.json("find", "redis", "has:tests")["notes"]
    assert note == "has:tests is searched as text: only has:snapshot is supported"
    [note] = samples.json("find", "redis", "before:3d")["notes"]
    assert note.endswith("only since: is supported")
    assert samples.json("find", "hook before:insert")["notes"] == []
