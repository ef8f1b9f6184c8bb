"""What a search finds, and what it says about it."""

import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from prong import App
from prong.agents.claude.store import ClaudeStore
from prong.config import Config
from prong.errors import UsageError
from prong.hook import spool
from prong.model.search import SearchRequest
from prong.search.index import PROMPT_HEAD
from tests.search.lab import START, SearchLab, places

LIMITER = ("Add rate limiting to the public API", "I used a token bucket in src/limit.py.")
LOGIN = ("Fix the login page", "The cookie was not sent.")


def test_a_turn_is_found_by_its_prompt_and_by_its_answer(lab: SearchLab) -> None:
    lab.claude(LOGIN, LIMITER)
    lab.codex(("Write a changelog", "Done."), ("Bump the version", "It is 2.0 now."))
    assert lab.places("limit the rate of requests")[0] == "1@2"
    assert lab.places("token buckets")[0] == "1@2"
    assert lab.places("changelogs")[0] == "2@1"


def test_other_forms_of_a_word_are_the_same_word(lab: SearchLab) -> None:
    lab.claude(("We are limiting connections", "ok"))
    assert lab.places("connection limits") == ["1@1"]


def test_identifiers_are_found_whole_and_in_parts(lab: SearchLab) -> None:
    lab.claude(("what does getUserName do", "it calls parse_json_file in src/app/reader.py"))
    lab.claude(("something else", "parse the file as json, and read the app's source"))
    for text in ("getUserName", "getusername", "user name", "reader.py", "src/app/reader.py"):
        assert lab.places(text)[0] == "1@1", text
    assert lab.places("parse_json_file")[0] == "1@1"
    assert lab.places("json")[:2] in (["1@1", "2@1"], ["2@1", "1@1"])


def test_chinese_and_japanese_are_found_by_words_from_their_middle(lab: SearchLab) -> None:
    lab.claude(("请帮我给公共接口加上速率限制功能", "好的"))
    lab.claude(("ログイン画面の不具合を修正してください", "はい"))
    lab.claude(LOGIN)
    assert lab.places("速率限制") == ["1@1"]
    assert lab.places("公共接口") == ["1@1"]
    assert lab.places("画面の不具合") == ["2@1"]
    assert lab.places("不具合")[0] == "2@1"
    (hit,) = lab.find("速率限制").hits
    assert [hit.passage.text[start:end] for start, end in hit.passage.marks] == ["速率限制"]


def test_words_between_characters_and_single_characters_are_found(lab: SearchLab) -> None:
    lab.claude(("用Redis缓存会话数据 避免数据库锁", "好的"))
    lab.claude(("テストが失敗するのでDockerfileを直して", "直しました"))
    for text, place in (("redis", "1@1"), ("锁", "1@1"), ("dockerfiles", "2@1")):
        assert lab.places(text) == [place], text
    (hit,) = lab.find("redis").hits
    assert [hit.passage.text[start:end] for start, end in hit.passage.marks] == ["Redis"]


def test_chinese_is_found_wherever_it_stands(lab: SearchLab) -> None:
    sample = lab.sample()
    sample.prompt("Please look at it")
    sample.answer("我们需要修复内存泄漏问题")
    sample.tools(("Bash", {"command": "git commit -m 登录页面"}, "错误: 找不到模块文件"))
    sample.answer("done")
    sample.side("custom-title", customTitle="部署流水线重构", sessionId=sample.id)
    sample.write(lab.home.claude)
    lab.claude(LOGIN)
    for text in ("内存泄漏", "找不到模块", "登录", "流水线"):
        assert lab.places(text) == ["1@1"], text


def test_what_a_tool_printed_is_found_and_counts_little(lab: SearchLab) -> None:
    sample = lab.sample()
    sample.prompt("run the tests")
    sample.tools(("Bash", {"command": "pytest"}, "E0502: cannot borrow `frobnicator` as mutable"))
    sample.answer("They fail.")
    sample.write(lab.home.claude)
    lab.claude(("What is a frobnicator", "A thing."))
    assert lab.places("frobnicator") == ["2@1", "1@1"]
    (hit,) = lab.find("E0502").hits
    assert "cannot borrow" in hit.passage.text


def test_without_tool_output_when_it_is_not_wanted(lab: SearchLab) -> None:
    sample = lab.sample()
    sample.prompt("run the tests")
    sample.tools(("Bash", {"command": "pytest"}, "E0502: cannot borrow"))
    sample.answer("They fail.")
    sample.write(lab.home.claude)
    assert lab.places("E0502") == ["1@1"]
    lab.output = False
    assert lab.places("E0502") == []
    assert lab.places("pytest") == ["1@1"]
    lab.output = True
    assert lab.places("E0502") == ["1@1"]


def test_text_before_a_compaction_is_found(lab: SearchLab) -> None:
    sample = lab.sample()
    sample.prompt("Draw a hippogriff")
    sample.answer("Drawn.")
    sample.compact("We drew something.")
    sample.prompt("And now?")
    sample.answer("Nothing.")
    sample.write(lab.home.claude)
    assert lab.places("hippogriff") == ["1@1"]


def test_a_turn_that_a_rewind_left_is_found_and_comes_later(lab: SearchLab) -> None:
    sample = lab.sample()
    sample.prompt("Start")
    start = sample.answer("Started.")
    sample.prompt("Paint the hippogriff green")
    sample.answer("Green.")
    sample.leaf = start
    sample.prompt("Paint the hippogriff red")
    sample.answer("Red.")
    sample.write(lab.home.claude)
    first, second = lab.find("paint the hippogriff").hits
    assert first.turn is not None
    assert second.turn is not None
    assert (first.turn.index, second.turn.index) == (2, None)
    assert second.turn.prompt == "Paint the hippogriff green"
    assert second.score < first.score


def test_titles_are_found(lab: SearchLab) -> None:
    sample = lab.sample()
    sample.prompt("do it")
    sample.answer("done")
    sample.side("custom-title", customTitle="The great hippogriff", sessionId=sample.id)
    sample.write(lab.home.claude)
    assert lab.places("hippogriff") == ["1@1"]


def test_copies_of_a_turn_are_one_hit(lab: SearchLab) -> None:
    """Equal ids where the agent forked, other ids where ours or an SDK did."""
    sample = lab.claude(LIMITER, LOGIN)
    copy = sample.branch_off("0000000b-0000-4000-8000-00000000000b", sample.leaf or "")
    copy.prompt("Something new")
    copy.answer("Really.")
    copy.write(lab.home.claude)
    with lab.app() as app:
        made = app.forks.make(app.forks.plan(f"claude:{sample.id}@2"))
        assert made.child.id != sample.id
    result = lab.find("token bucket")
    assert places(result.hits) == ["1@1"]
    (hit,) = result.hits
    assert {ref.id for ref, _ in hit.also} == {copy.id, made.child.id}
    assert {number for _, number in hit.also} == {1}
    assert lab.places("something new") == ["11@3"]


def test_the_same_words_twice_in_a_session_are_two_hits(lab: SearchLab) -> None:
    lab.claude(("run the tests", "All pass."), LOGIN, ("run the tests", "All pass."))
    result = lab.find("run the tests")
    assert sorted(places(result.hits)) == ["1@1", "1@3"]
    assert [hit.also for hit in result.hits] == [(), ()]


def test_a_session_in_two_folders_is_no_copy_of_itself(lab: SearchLab) -> None:
    lab.claude(LIMITER)
    other = lab.home.root / "other"
    shutil.copytree(lab.home.claude, other)
    stores = {"claude": ClaudeStore([lab.home.claude, other])}
    with App(Config(), stores=stores, needs_programs=False) as app:
        (hit,) = app.search.find(SearchRequest("token bucket", fast=True)).hits
    assert hit.also == ()


def test_the_same_words_in_unrelated_sessions_are_two_hits(lab: SearchLab) -> None:
    lab.claude(LIMITER)
    lab.claude(LIMITER)
    assert sorted(lab.places("token bucket")) == ["1@1", "2@1"]


def test_only_what_a_filter_lets_through(lab: SearchLab) -> None:
    lab.claude(LIMITER, cwd=str(lab.project("shop")))
    lab.codex(LIMITER, cwd=str(lab.project("api")))
    assert lab.places("rate limit", agent="codex") == ["2@1"]
    assert lab.places("rate limit", project=lab.project("shop")) == ["1@1"]
    assert lab.places("rate limit", project=lab.home.projects) != []
    assert lab.places("rate limit", since=START + timedelta(days=2)) == ["2@1"]
    assert lab.places("rate limit", since=START + timedelta(days=9)) == []


def test_by_files_that_were_touched(lab: SearchLab) -> None:
    sample = lab.sample()
    path = f"{sample.cwd}/src/api/limit.py"
    sample.prompt("Limit it")
    sample.tools(("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, "ok"))
    sample.answer("Limited.")
    sample.prompt("Limit something else")
    sample.answer("In api, a limit. py.")
    sample.write(lab.home.claude)
    for name in ("limit.py", "api/limit.py", "src/api", "./src/api/limit.py", path, "api/"):
        assert lab.places("limit", files=(name,)) == ["1@1"], name
    assert lab.places("limit", files=("imit.py",)) == []
    assert lab.places("limit", files=("src/limit.py",)) == []


def test_this_folder_comes_first_and_others_stay(lab: SearchLab) -> None:
    here, there = lab.project("here"), lab.project("there")
    (here / ".git").mkdir()
    (here / "src").mkdir()
    lab.claude(LIMITER, cwd=str(there))
    lab.claude(LIMITER, cwd=str(here))
    assert lab.places("token bucket", here=there) == ["1@1", "2@1"]
    assert lab.places("token bucket", here=here / "src") == ["2@1", "1@1"]


def test_at_most_three_turns_of_a_session(lab: SearchLab) -> None:
    turns = [(f"Paint hippogriff number {number}", "Painted.") for number in range(8)]
    lab.claude(*turns)
    lab.claude(("Feed the hippogriff", "Fed."))
    result = lab.find("hippogriff")
    assert len(result.hits) == 4
    assert {hit.more for hit in result.hits if hit.ref and hit.ref.id.endswith("1")} == {5}
    assert len(lab.find("hippogriff", by_session=True).hits) == 2


def test_limit_and_least_score(lab: SearchLab) -> None:
    for number in range(5):
        lab.claude((f"Paint hippogriff {number}", "Painted."))
    assert len(lab.places("paint hippogriff", limit=2)) == 2
    result = lab.find("paint hippogriff 3")
    assert all(0 < hit.score <= 1 for hit in result.hits)
    least = result.hits[0].score
    assert len(lab.places("paint hippogriff 3", min_score=least)) == 1


def test_as_many_as_are_wanted(lab: SearchLab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the best turns are all of a few sessions."""
    monkeypatch.setattr("prong.search.builtin._POOL", 4)
    for session in range(12):
        lab.claude(*[(f"Paint hippogriff {session} {number}", "Painted.") for number in range(8)])
    result = lab.find("hippogriff", limit=1000, by_session=True)
    assert (len(result.hits), result.total) == (12, 12)
    assert len(lab.find("hippogriff", limit=1000).hits) == 36
    assert len(lab.find("hippogriff", limit=5, by_session=True).hits) == 5


def test_a_key_at_the_end_of_what_is_shown_is_masked_whole(lab: SearchLab) -> None:
    key = "npm_" + "aB3dE5fG7hJk9LmN" * 2 + "abcd"
    for before in range(PROMPT_HEAD - len(key), PROMPT_HEAD + 1, 7):
        lab.claude((f"{'griffin '.ljust(before, 'x')} {key} and so on", "done"))
    result = lab.find("griffin", limit=100)
    assert len(result.hits) > 3
    for hit in result.hits:
        assert hit.turn is not None
        assert "npm_" not in hit.turn.prompt + hit.passage.text


def test_words_that_say_nothing_are_looked_for_when_there_are_no_others(lab: SearchLab) -> None:
    lab.claude(("who are you", "I am."))
    assert lab.places("who are you") == ["1@1"]
    assert lab.places("!!! ???") == []
    with pytest.raises(UsageError, match="empty"):
        lab.find("")


def test_queries_that_look_like_a_language_are_words(lab: SearchLab) -> None:
    lab.claude(('title:"a OR b" AND NOT (c', "[x TO y] ~ ^ * \\ + -"))
    for text in ('title:"a OR b" AND NOT (c', "[x TO y]", "* ~ ^ title", "-title", "title\0\x1b["):
        assert lab.places(text) == ["1@1"], text


def test_the_passage_shows_where_the_words_are(lab: SearchLab) -> None:
    long = "word " * 400
    lab.claude((f"{long} the hippogriff eats {long}", "Fine."))
    (hit,) = lab.find("hippogriff").hits
    assert len(hit.passage.text) < 300
    assert [hit.passage.text[a:b] for a, b in hit.passage.marks] == ["hippogriff"]


def test_the_model_finds_what_words_do_not_order(lab: SearchLab) -> None:
    lab.claude(("The page takes ages to load, make the website faster", "I added a cache."))
    lab.claude(("Load the page of the phone book", "Here is the page."))
    result = lab.find("speed up slow page loading", fast=False)
    assert places(result.hits)[0] == "1@1"
    assert [one.mode for one in result.attempts] == ["words", "meaning"]
    assert result.attempts[1].error is None


def test_a_search_says_how_it_came_about(lab: SearchLab) -> None:
    lab.claude(LIMITER, LOGIN)
    result = lab.find("rate")
    assert result.engine == "builtin"
    assert [(one.mode, one.skipped) for one in result.attempts] == [
        ("words", False),
        ("meaning", True),
    ]
    assert (result.index.sessions, result.index.turns) == (1, 2)
    assert result.index.complete


def test_a_search_writes_nothing_but_the_cache(lab: SearchLab) -> None:
    lab.claude(LIMITER)
    before = _files(lab.home.root)
    lab.find("rate", fast=False)
    new = _files(lab.home.root) - before
    assert all("/.cache/" in str(path) or "/cache/" in str(path) for path in new), new
    assert all(not path.stat().st_mode & 0o077 for path in new if path.suffix == ".db")


def _files(root: Path) -> set[Path]:
    return {path for path in root.rglob("*") if path.is_file()}


def test_only_turns_with_a_snapshot(lab: SearchLab) -> None:
    lab.claude(LIMITER)
    assert lab.places("rate", has_snapshot=True) == []


def test_the_code_of_a_hit_is_that_of_its_turn(lab: SearchLab) -> None:
    folder = lab.project("shop")
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    sample = lab.sample()
    with lab.app() as app:
        for number in range(1, 4):
            sample.prompt(f"griffin number {number}")
            sample.answer("Done.")
            for path in lab.home.claude.rglob("*.jsonl"):
                path.unlink()
            sample.write(lab.home.claude)
            (folder / "a.txt").write_text("line\n" * number)
            app.code.keep(app.sessions.conversation(f"claude:{sample.id}"))
        turns = app.code.with_code(app.sessions.conversation(f"claude:{sample.id}")).turns
        hits = app.search.find(SearchRequest("griffin", fast=True)).hits
    expected = {turn.id: (turn.snapshot, turn.changes, turn.since_prompt) for turn in turns}
    assert {
        hit.turn.id: (hit.turn.snapshot, hit.turn.changes, hit.turn.since_prompt)
        for hit in hits
        if hit.turn
    } == expected
    assert [turn.changes is not None for turn in turns] == [False, True, True]


def test_a_search_leaves_what_hooks_told_and_knows_of_it(lab: SearchLab) -> None:
    lab.claude(LIMITER)
    (hit,) = lab.find("rate").hits
    with lab.app() as app:
        state = app.state_dir
    assert hit.turn
    assert hit.ref
    told = {"turn": hit.turn.id, "commit": "c0ffee", "repo": "/gone", "ref": "refs/prong/x"}
    spool.append({"agent": "claude", "session": hit.ref.id, "snapshot": told}, state / "spool")
    before = (state / "spool" / "events.jsonl").read_bytes()
    (again,) = lab.find("rate", has_snapshot=True).hits
    assert again.turn
    assert (again.turn.id, again.turn.snapshot) == (hit.turn.id, "c0ffee")
    assert (state / "spool" / "events.jsonl").read_bytes() == before


def test_an_app_that_remembers_nothing_can_search(lab: SearchLab) -> None:
    lab.claude(LIMITER)
    with App(Config(), stores={"claude": ClaudeStore([lab.home.claude])}, remember=False) as app:
        assert places(app.search.find(SearchRequest("rate", fast=True)).hits) == ["1@1"]


def test_the_model_finds_what_is_said_in_other_words(lab: SearchLab) -> None:
    lab.claude(("The page takes ages to load, make the website faster", "I added a cache."))
    lab.claude(("Paint the hippogriff", "Painted."))
    assert lab.places("sluggish", fast=False) == []
    with lab.app() as app:
        app.search.index()
    assert lab.places("sluggish") == []
    result = lab.find("sluggish homepage", fast=False)
    assert places(result.hits)[0] == "1@1"
    assert result.hits[0].score < 0.5
    assert lab.places("sluggish homepage", fast=False, since=START + timedelta(days=9)) == []
    assert "1@1" not in lab.places("sluggish", fast=False, agent="codex")
