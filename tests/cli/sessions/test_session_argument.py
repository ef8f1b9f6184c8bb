"""What may be typed where a command takes a SESSION, and in which order it is tried."""

import shutil
from pathlib import Path

import pytest

from tests.cli.shell import API, PARSER, SEARCH, SNIFFER, WINDOW, Shell


def shown(shell: Shell, text: str) -> str:
    return shell.json("turns", text)["session"]["id"]


def file_of(shell: Shell, id_: str) -> Path:
    [path] = shell.home.root.rglob(f"*{id_}.jsonl")
    return path


@pytest.mark.parametrize(
    ("text", "id_"),
    [
        (f"claude:{API}", API),
        ("claude:60309e1e", API),
        ("claude:6", API),
        ("codex:01a1e5", SNIFFER),
        ("60309e1e", API),
        ("b", SEARCH),
        (PARSER, PARSER),
    ],
)
def test_agent_and_id_or_a_unique_beginning(samples: Shell, text: str, id_: str) -> None:
    assert shown(samples, text) == id_


def test_a_beginning_that_several_have_lists_them(samples: Shell) -> None:
    said = samples.fails(3, "show", "codex:01a1e")
    assert "codex:01a1e fits 2 sessions" in said
    assert f"codex:{PARSER}  Write a parser" in said
    assert f"codex:{SNIFFER}  Write a parser" in said
    problem = samples.problem(3, "show", "01a1e")
    assert problem["code"] == "ambiguous"
    assert set(problem["details"]["candidates"]) == {f"codex:{PARSER}", f"codex:{SNIFFER}"}


def test_only_some_candidates_are_listed_when_there_are_many(shell: Shell) -> None:
    for number in range(16, 16 + 9):
        shell.simple(number, "line one\nline two " + "x" * 200)
    said = shell.fails(3, "turns", "000000")
    assert said.count("claude:") == 5
    assert "and 4 more" in said
    assert max(map(len, said.splitlines())) < 120
    assert len(shell.problem(3, "turns", "000000")["details"]["candidates"]) == 9


def test_a_whole_id_wins_over_a_longer_one(shell: Shell) -> None:
    id_ = shell.simple(1)
    path = file_of(shell, id_)
    shutil.copy(path, path.with_name(f"{id_}0.jsonl"))
    assert shown(shell, id_) == id_


def test_a_hit_of_a_search_that_was_never_made(samples: Shell) -> None:
    assert "no search was made in this terminal yet" in samples.fails(3, "show", "%1")


@pytest.mark.parametrize("text", ["nothing", "claude:nothing", "codex:60309e1e", "claude:"])
def test_no_such_session(samples: Shell, text: str) -> None:
    said = samples.fails(3, "show", text)
    assert "no session" in said
    assert "prong list" in said
    assert samples.problem(3, "show", text)["code"] == "not_found"


def test_no_such_agent(samples: Shell) -> None:
    said = samples.fails(3, "show", "cursor:60309e1e")
    assert "unknown agent 'cursor'" in said
    assert "claude, codex" in said


def test_no_session_at_all(samples: Shell) -> None:
    assert "a session is missing" in samples.fails(2, "show", "")


def test_a_name_too_long_for_a_file_is_just_not_found(samples: Shell) -> None:
    assert "no session" in samples.fails(3, "show", "x" * 5000)
    assert "does not exist" in samples.fails(3, "show", "/" + "x" * 5000)


def test_a_path(samples: Shell) -> None:
    assert shown(samples, str(file_of(samples, API))) == API
    assert shown(samples, str(file_of(samples, SNIFFER))) == SNIFFER


def test_a_path_with_a_turn(samples: Shell) -> None:
    found = samples.json("show", f"{file_of(samples, API)}@2")
    assert {message["turn"] for message in found["messages"]} == {2}


def test_a_path_outside_of_the_roots(samples: Shell, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere.jsonl"
    shutil.move(file_of(samples, SEARCH), copy)
    found = samples.json("turns", str(copy))
    assert (found["session"]["id"], len(found["turns"])) == (SEARCH, 1)


@pytest.mark.parametrize("name", ["a@b.jsonl", "@2", "claude@host:1.jsonl", "x@-1"])
def test_a_relative_path_with_an_at_in_it(samples: Shell, name: str) -> None:
    shutil.move(file_of(samples, SEARCH), samples.home.root / name)
    assert len(samples.json("turns", name)["turns"]) == 1
    assert len(samples.json("turns", f"./{name}")["turns"]) == 1
    assert samples.json("show", f"./{name}@1")["messages"]


def test_an_id_wins_over_a_file_of_the_same_name(samples: Shell) -> None:
    shutil.copy(file_of(samples, SEARCH), samples.home.root / "60309e1e")
    assert shown(samples, "60309e1e") == API
    assert samples.json("turns", "./60309e1e")["turns"][0]["prompt"].startswith("Why is")


def test_a_path_that_leads_nowhere(samples: Shell) -> None:
    assert "file ./nope.jsonl does not exist" in samples.fails(3, "show", "./nope.jsonl")
    assert "file /no/such:file does not exist" in samples.fails(3, "show", "/no/such:file")


def test_a_folder_leads_to_its_list(samples: Shell) -> None:
    said = samples.fails(3, "show", str(samples.home.root))
    assert "is a folder" in said
    assert f"prong list --project {samples.home.root}" in said


def test_last_is_the_newest_of_this_folder(samples: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    other = samples.simple(1, cwd=str(samples.home.projects / "other"), age=0.1)
    shop = samples.home.projects / "shop"
    (shop / "web").mkdir(parents=True)
    monkeypatch.chdir(shop)
    assert shown(samples, "last") == WINDOW
    assert samples.json("show", "last@-1")["messages"][0]["turn"] == 3
    monkeypatch.chdir(samples.home.projects)
    assert shown(samples, "last") == other
    monkeypatch.chdir(shop / "web")
    assert f"no sessions in {shop / 'web'}" in samples.fails(3, "show", "last")


def test_last_in_a_folder_that_is_gone(samples: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = samples.home.root / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert "this folder no longer exists" in samples.fails(3, "show", "last")
    assert "this folder no longer exists" in samples.fails(3, "list", "--project", ".")
    assert shown(samples, "60309e1e") == API


def test_hidden_sessions_can_be_named(shell: Shell) -> None:
    sample = shell.session(1)
    sample.entrypoint = "sdk-cli"
    sample.prompt("Hello")
    sample.answer("Done.")
    sample.write(shell.home.claude)
    assert shell.json("list")["sessions"] == []
    assert shown(shell, "claude:0000") == sample.id
