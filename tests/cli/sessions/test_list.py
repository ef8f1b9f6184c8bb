"""`prong list`: which sessions, in which order, and what is said about the rest."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.shell import API, NOW, PARSER, SEARCH, SNIFFER, WINDOW, Shell
from tests.samples.codex import CodexSample


def ids(shell: Shell, *options: str) -> list[str]:
    return [session["id"] for session in shell.json("list", *options)["sessions"]]


def codex(shell: Shell, thread: str, *, source: str = "cli", root: Path | None = None) -> None:
    sample = CodexSample(thread, "/work", NOW - timedelta(hours=3), source=source)
    sample.turn("Hello", "Done.")
    sample.write(root or shell.home.codex)


def test_all_agents_newest_first(samples: Shell) -> None:
    assert ids(samples) == [WINDOW, API, SNIFFER, PARSER, SEARCH]


def test_the_table_has_name_age_turns_title_and_folder(samples: Shell) -> None:
    line = samples.ok("list").splitlines()[1]
    assert line.split("  ")[0] == "claude:60309e1e"
    for part in ("4h ago", " 4 ", "Rate limiting for the public API", "~/projects/shop"):
        assert part in line


def test_agent(samples: Shell) -> None:
    assert ids(samples, "--agent", "codex") == [SNIFFER, PARSER]
    assert ids(samples, "-a", "claude") == [WINDOW, API, SEARCH]


def test_an_unknown_agent_is_named_beside_the_known_ones(samples: Shell) -> None:
    said = samples.fails(3, "list", "--agent", "cursor")
    assert "'cursor'" in said
    assert "claude, codex" in said


def test_project_means_the_folder_and_all_below(shell: Shell) -> None:
    inside = shell.simple(1, cwd="/srv/shop")
    below = shell.simple(2, cwd="/srv/shop/web", age=2)
    shell.simple(3, cwd="/srv/shop-old")
    assert ids(shell, "--project", "/srv/shop") == [inside, below]
    assert ids(shell, "--project", "/srv/shop/") == [inside, below]
    assert ids(shell, "--project", "/srv/shop/web/..") == [inside, below]
    assert len(ids(shell, "--project", "/")) == 3


def test_project_may_be_relative_or_a_link(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shell.home.projects / "shop"
    (folder / "web").mkdir(parents=True)
    link = shell.home.root / "link"
    link.symlink_to(folder)
    id_ = shell.simple(1, cwd=str(folder))
    monkeypatch.chdir(folder / "web")
    assert ids(shell, "--project", ".") == []
    assert ids(shell, "--project", "..") == [id_]
    assert ids(shell, "--project", "~/link") == [id_]
    assert ids(shell, "--project", str(link)) == [id_]


def test_project_counts_every_folder_the_session_was_in(shell: Shell) -> None:
    sample = shell.session(1, cwd="/srv/first")
    sample.prompt("Hello")
    sample.answer("Done.")
    sample.cwd = "/srv/second"
    sample.prompt("Go on")
    sample.answer("Done.")
    sample.cwd = "/srv/first"
    sample.write(shell.home.claude)
    assert ids(shell, "--project", "/srv/first") == [sample.id]
    assert ids(shell, "--project", "/srv/second") == [sample.id]


@pytest.mark.parametrize("since", ["3h", "3H", "180m", "180min"])
def test_since_a_while(samples: Shell, since: str) -> None:
    assert ids(samples, "--since", since) == [WINDOW]


def test_since_days_and_dates(samples: Shell) -> None:
    assert len(ids(samples, "--since", "2d")) == 4
    assert len(ids(samples, "--since", "1w")) == 5
    assert len(ids(samples, "--since", "1mo")) == 5
    assert len(ids(samples, "--since", (NOW - timedelta(days=2)).isoformat())) == 4
    assert len(ids(samples, "--since", f"{NOW - timedelta(days=2):%Y-%m-%dT%H:%M:%SZ}")) == 4
    assert len(ids(samples, "--since", f"{NOW - timedelta(days=9):%Y-%m-%d}")) == 5
    assert len(ids(samples, "--since", "99999999y")) == 5
    assert ids(samples, "--since", f"{NOW + timedelta(days=2):%Y-%m-%d}") == []


def test_since_today_and_yesterday_begin_at_midnight(shell: Shell) -> None:
    midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    hours = (NOW - midnight.astimezone(UTC)).total_seconds() / 3600
    today = shell.simple(1, age=hours - 0.01)
    yesterday = shell.simple(2, age=hours + 1)
    shell.simple(3, age=hours + 25)
    assert ids(shell, "--since", "today") == [today]
    assert ids(shell, "--since", "yesterday") == [today, yesterday]


@pytest.mark.parametrize("since", ["soon", "", "3", "3 parsecs", "2026-13-45", "9" * 5000 + "d"])
def test_since_something_else_is_refused_with_examples(shell: Shell, since: str) -> None:
    assert "try 3d, 12h, 2w, yesterday" in shell.fails(2, "list", "--since", since)


def test_limit_says_how_many_more(samples: Shell) -> None:
    result = samples.run("list", "--limit", "2")
    assert len(result.stdout.splitlines()) == 2
    assert "3 more: prong list --limit 5" in result.stderr
    found = samples.json("list", "-n", "2")
    assert (len(found["sessions"]), found["more"], found["total"]) == (2, 3, 5)


def test_limit_zero_and_less(samples: Shell) -> None:
    assert samples.ok("list", "--limit", "0") == ""
    assert "--limit" in samples.fails(2, "list", "--limit", "-1")


def test_archived_and_headless_ones_are_counted_and_shown_with_all(shell: Shell) -> None:
    shown = shell.simple(1)
    robot = shell.session(2)
    robot.entrypoint = "sdk-cli"
    robot.prompt("Hello")
    robot.answer("Done.")
    robot.write(shell.home.claude)
    codex(shell, PARSER, source="exec")
    codex(shell, SNIFFER)
    archive = shell.home.codex / "archived_sessions"
    archive.mkdir()
    [path] = shell.home.codex.rglob(f"*{SNIFFER}.jsonl")
    path.rename(archive / path.name)

    result = shell.run("list")
    assert result.stdout.count("\n") == 1
    assert "3 left out, archived or headless: prong list --all" in result.stderr
    assert ids(shell) == [shown]
    assert shell.json("list")["hidden"] == 3
    everything = shell.json("list", "--all")
    assert (len(everything["sessions"]), everything["hidden"]) == (4, 0)
    archived = {session["id"] for session in everything["sessions"] if session["archived"]}
    headless = {session["id"] for session in everything["sessions"] if session["headless"]}
    assert archived == {SNIFFER}
    assert headless == {robot.id, PARSER}
    table = shell.ok("list", "--all")
    assert "[sdk-cli]" in table
    assert "[archived]" in table
    assert "[exec]" in table


def test_an_empty_store_names_its_roots_and_the_way_out(shell: Shell) -> None:
    result = shell.run("list")
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"no sessions under {shell.home.claude}, {shell.home.codex}" in result.stderr
    assert "set CLAUDE_CONFIG_DIR or CODEX_HOME, or run: prong demo" in result.stderr


def test_an_empty_store_of_one_agent_names_only_that(samples: Shell) -> None:
    nowhere = str(samples.home.root / "nowhere")
    said = samples.run("list", "--agent", "codex", CODEX_HOME=nowhere).stderr
    assert f"no sessions under {nowhere}\n" in said
    assert "set CODEX_HOME, or run: prong demo" in said


def test_an_empty_store_as_json(shell: Shell) -> None:
    assert shell.json("list") == {
        "sessions": [],
        "skipped": [],
        "total": 0,
        "hidden": 0,
        "more": 0,
        "failed": {},
    }


def test_filters_that_nothing_fits_say_so(samples: Shell) -> None:
    result = samples.run("list", "--project", "/nowhere")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "none of 5 sessions fits" in result.stderr


def test_ids_that_begin_alike_are_shown_longer(shell: Shell) -> None:
    one, other = "01a1e076-654d-7c10-8a51-5f3f9e1b0d04", "01a1e076-6599-7c10-8a51-5f3f9e1b0d04"
    codex(shell, one)
    codex(shell, other)
    names = {line.split()[0] for line in shell.ok("list").splitlines()}
    assert names == {"codex:01a1e076-654", "codex:01a1e076-659"}
    for name in names:
        assert shell.ok("turns", name)


def test_a_fork_without_a_title_of_its_own_says_what_it_is(samples: Shell) -> None:
    lines = samples.ok("list").splitlines()
    assert "fork of codex:01a1e076@1: Write a parser" in lines[2]
    assert "fork" not in lines[3]
    assert "[fork]" in lines[0]
    alone = samples.ok("list", "--agent", "codex", "--limit", "1")
    assert "[fork]" in alone


def test_a_file_without_conversation_is_skipped_and_no_problem(shell: Shell) -> None:
    shell.simple(1)
    sample = shell.session(2)
    sample.side("custom-title", customTitle="only a title")
    path = sample.write(shell.home.claude)
    result = shell.run("list")
    assert (result.stdout.count("\n"), result.stderr) == (1, "")
    [skipped] = shell.json("list")["skipped"]
    assert skipped == {"path": str(path), "reason": "no conversation in it", "offset": None}


def test_a_short_name_fits_only_one_session_also_among_those_not_shown(shell: Shell) -> None:
    for number, source in ((1, "cli"), (2, "exec")):
        thread = CodexSample(
            f"01a1e076-000{number}-7000-8000-000000000000", "/w", NOW, source=source
        )
        thread.turn("do it", "done")
        thread.write(shell.home.codex)
    name = shell.ok("list").split()[0]
    assert name == "codex:01a1e076-0001"
    assert "do it" in shell.ok("show", name)
