"""What goes along with a worker, and what is kept of it."""

from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from prong.model.forks import Launch
from prong.model.record import replace
from prong.model.workers import WorkerInfo
from prong.workers.launch import environment

SHELL = {
    "PATH": "/usr/bin",
    "HOME": "/home/ada",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    "ANTHROPIC_API_KEY": "sk-test-0000",
    "MY_PROVIDER_KEY": "sk-test-0001",
    "HTTPS_PROXY": "http://ada:secret@127.0.0.1:9",
    "NO_PROXY": "localhost",
    "CLAUDECODE": "1",
    "CLAUDE_CODE_SESSION_ID": "x",
    "TMUX": "/run/x,1,0",
    "TMUX_PANE": "%0",
    "TERM": "tmux-256color",
    "TERM_PROGRAM": "tmux",
    "PWD": "/elsewhere",
    "PRONG_WORKER": "calm-otter",
    "PRONG_PUSH": "origin",
}


def test_the_shell_goes_along_without_what_says_where_it_is() -> None:
    carried = environment.carried(SHELL)
    assert carried.keys() == {
        "PATH",
        "HOME",
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_API_KEY",
        "MY_PROVIDER_KEY",
        "HTTPS_PROXY",
        "NO_PROXY",
    }


def test_where_requests_go_is_kept_and_no_key() -> None:
    given_ = {"FEATURE": "on", "DB_PASSWORD": "x", "GITHUB_TOKEN": "y"}
    assert environment.stored(given_, SHELL) == {
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "NO_PROXY": "localhost",
        "FEATURE": "on",
    }


def test_what_holds_a_token_by_another_name_is_not_kept() -> None:
    shell = {"ANTHROPIC_CUSTOM_HEADERS": "Authorization: Bearer abc", "CODEX_MODE": "fast"}
    given_ = {
        "MYSQL_PWD": "x",
        "SSH_PASSPHRASE": "x",
        "LOGIN": f"ghp_{'a1B2' * 9}",
    }
    assert environment.stored(given_, shell) == {"CODEX_MODE": "fast"}


@given(st.dictionaries(st.from_regex(r"[A-Z_]{1,12}(KEY|TOKEN|SECRET)", fullmatch=True), st.text()))
def test_no_secret_is_ever_stored(secrets: dict[str, str]) -> None:
    assert environment.stored(secrets, secrets) == {}


def test_marks_for_the_hooks() -> None:
    def marks(worker: WorkerInfo) -> dict[str, str]:
        launch = Launch((), worker.workspace)
        variables = environment.complete(worker, launch, {"PRONG_WORKER": "other"})
        names = (environment.NAME, environment.AGENT, environment.COMMIT_TURNS, environment.PUSH)
        return {name: variables[name] for name in names if name in variables}

    worker = WorkerInfo("calm-otter", "claude", Path("/shop"), "claude", datetime.now(UTC))
    assert marks(worker) == {"PRONG_WORKER": "calm-otter", "PRONG_AGENT": "claude"}
    assert marks(replace(worker, commit_turns=True, push="origin")) == {
        "PRONG_WORKER": "calm-otter",
        "PRONG_AGENT": "claude",
        "PRONG_COMMIT_TURNS": "1",
        "PRONG_PUSH": "origin",
    }


def test_the_hash_of_settings(tmp_path: Path) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    one.write_text("{}")
    hash_of = environment.settings_hash
    before = hash_of([one, two])
    assert before == hash_of([one, tmp_path / "none.json"])
    two.write_text("{}")
    assert hash_of([one, two]) != before
    assert hash_of([one]) != hash_of([two, one])


def test_a_folder_that_is_trusted_changes_no_settings(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('model = "x"\n')
    hash_of = environment.settings_hash
    before = hash_of([config])
    config.write_text('model="x"\n[projects."/home/ada/shop"]\ntrust_level = "trusted"\n')
    assert hash_of([config]) == before
    config.write_text('model = "y"\n')
    assert hash_of([config]) != before
    config.write_text("half a line =")
    assert hash_of([config]) != before
