"""The configuration file. What the command line says about a wrong one is in tests/cli."""

from pathlib import Path

import pytest

from prong import config
from prong.config import Config, McpSettings, Snapshots, TerminalSettings, Workspace
from prong.errors import ConfigError
from prong.files.size_limit import SNAPSHOT_LIMIT, snapshot_limit
from prong.testing.home import IsolatedHome


def load(folder: Path, text: str) -> Config:
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return config.load(path)


def test_no_file_is_an_empty_one(tmp_path: Path) -> None:
    assert config.load(tmp_path / "none.toml") == Config()
    assert load(tmp_path, "") == Config()
    assert load(tmp_path, "# [search]\n\n  # engines = []\r\n") == Config()
    assert load(tmp_path, "[agents]") == Config()
    assert load(tmp_path, "[agents.claude]").extra_roots == {"claude": ()}
    assert load(tmp_path, "[workspace]").workspace == Workspace()
    assert load(tmp_path, "[snapshots]").snapshots == Snapshots(50_000_000)


def test_roots(tmp_path: Path, isolated_home: IsolatedHome) -> None:
    found = load(tmp_path, "[agents.claude]\nroots = ['~/laptop/.claude', '/mnt/x']\n")
    assert found.extra_roots == {
        "claude": (isolated_home.root / "laptop/.claude", Path("/mnt/x")),
    }


def test_the_example_of_the_reference_is_right(tmp_path: Path, isolated_home: IsolatedHome) -> None:
    page = (Path(__file__).parents[2] / "docs/reference/config.md").read_text(encoding="utf-8")
    example = page.partition("```toml\n")[2].partition("```")[0]
    assert load(tmp_path, example).extra_roots.keys() == {"claude", "codex"}
    assert load(tmp_path, example).commands == {
        "claude": "claude --model opus",
        "codex": ("/opt/codex/bin/codex", "--search"),
    }
    assert load(tmp_path, example).workspace == Workspace(
        isolated_home.root / "worktrees", (".env", "/config/*.local.toml"), ("node_modules",)
    )
    assert load(tmp_path, example).snapshots == Snapshots(200_000_000)
    assert load(tmp_path, example).terminal == TerminalSettings("tmux", "split")
    assert load(tmp_path, example).mcp == McpSettings(
        allow_skip_permissions=True, allow_trust=True, allow_commands=True
    )


def test_commands(tmp_path: Path) -> None:
    text = "[agents.claude]\ncommand = 'cd x && claude'\n[agents.codex]\ncommand = ['codex', '']\n"
    assert load(tmp_path, text).commands == {"claude": "cd x && claude", "codex": ("codex", "")}
    assert load(tmp_path, "[agents.claude]").commands == {}


def test_it_lies_in_the_config_folder(isolated_home: IsolatedHome) -> None:
    folder = isolated_home.root / ".config/prong"
    folder.mkdir()
    (folder / "config.toml").write_text("[agents.codex]\nroots = ['/x']", encoding="utf-8")
    assert config.load().extra_roots == {"codex": (Path("/x"),)}


@pytest.mark.parametrize(
    ("value", "limit"), [("1", 1_000_000), ("0.5", 500_000), ("5000", 5_000_000_000)]
)
def test_how_large_a_file_in_a_snapshot_may_be(
    tmp_path: Path, isolated_home: IsolatedHome, value: str, limit: int
) -> None:
    text = f"[snapshots]\nlimit_mb = {value}\n"
    assert load(tmp_path, text).snapshots == Snapshots(limit)
    # Hooks read it for themselves.
    assert snapshot_limit() == SNAPSHOT_LIMIT
    path = isolated_home.root / ".config/prong/config.toml"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    assert snapshot_limit() == limit
    assert config.load().snapshots.limit == limit


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"=", b"\xff", b"snapshots = 1", b"snapshots = []", b"[snapshots]\nlimit_mb = 0"),
        *(b"[snapshots]\nlimit_mb = 'x'", b"[snapshots]\nlimit_mb = inf", b"a = " + b"[" * 10_000),
    ],
)
def test_a_hook_takes_the_default_where_others_complain(
    isolated_home: IsolatedHome, data: bytes
) -> None:
    path = isolated_home.root / ".config/prong/config.toml"
    path.parent.mkdir()
    path.write_bytes(data)
    assert snapshot_limit() == SNAPSHOT_LIMIT


@pytest.mark.parametrize(
    "text",
    [
        *("x = 1", "agents = []", "=", "\x00", "[agents.a]\nx = 1"),
        *("[agents.a]\nroots = [true]", "[agents.a]\nroots = 'x'", "[agents.a]\nroots = ['x']"),
        *("[agents.a]\ncommand = 1", "[agents.a]\ncommand = [1]", "[agents.a]\ncommand = ['a', 1]"),
        *("workspace = 1", "[workspace]\nx = 1", "[workspace]\nroot = 1"),
        *("[workspace]\nroot = 'here'", "[workspace]\nroot = ''", "[workspace]\ncopy = '.env'"),
        *("[workspace]\ncopy = ['']", "[workspace]\nlink = ['!a']", "[workspace]\nlink = [1]"),
        *("snapshots = 1", "[snapshots]\nx = 1", "[snapshots]\nlimit_mb = 0"),
        *("[snapshots]\nlimit_mb = '5'", "[snapshots]\nlimit_mb = true"),
        *("[snapshots]\nlimit_mb = nan", "[snapshots]\nlimit_mb = -1"),
        *("[agents.a]\ncommand = ' '", "[agents.a]\ncommand = []", "[agents.a]\ncommand = ['']"),
    ],
)
def test_anything_else_is_an_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert caught.value.message.startswith(f"{tmp_path / 'config.toml'}: ")
    assert caught.value.hint


def test_terminals(tmp_path: Path, isolated_home: IsolatedHome) -> None:
    assert load(tmp_path, "[terminal]").terminal == TerminalSettings()
    sockets = "tmux_socket = '~/s'\nkitty_socket = 'unix:/run/k'\n"
    assert load(tmp_path, f"[terminal]\n{sockets}").terminal == TerminalSettings(
        None, "tab", isolated_home.root / "s", "unix:/run/k"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("place = 'pane'", "terminal.place must be one of split, tab, window"),
        ("default = 1", "terminal.default must be a text"),
        ("default = ''", "terminal.default must be a text"),
        ("tmux_socket = 'x'", "must begin with / or ~"),
        ("name = 'tmux'", "unknown setting terminal.name"),
    ],
)
def test_wrong_terminals(line: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, f"[terminal]\n{line}\n")


def test_what_agents_may_ask_for(tmp_path: Path) -> None:
    assert load(tmp_path, "").mcp == McpSettings()
    assert not McpSettings().allow_skip_permissions
    assert load(tmp_path, "[mcp]\nallow_trust = true\n").mcp == McpSettings(allow_trust=True)
    for line, message in (
        ("allow_commands = 1", "mcp.allow_commands must be true or false"),
        ("allow_trust = 1", "mcp.allow_trust must be true or false"),
        ("allow_skip_permissions = 'yes'", "mcp.allow_skip_permissions must be true or false"),
        ("read_only = true", "unknown setting mcp.read_only"),
    ):
        with pytest.raises(ConfigError, match=message):
            load(tmp_path, f"[mcp]\n{line}\n")


def test_how_the_terminal_ui_looks(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[ui]\ntheme = "nord"\nfork_keys = ["ctrl+f", "F"]\n')
    settings = config.load(file).ui
    assert (settings.theme, settings.fork_keys) == ("nord", ("ctrl+f", "F"))
    assert config.Config().ui.fork_keys == ("alt+shift+f", "F")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("theme = 3", "ui.theme"),
        ("theme = ' '", "ui.theme"),
        ("fork_keys = 'F'", "ui.fork_keys"),
        ("fork_keys = []", "ui.fork_keys"),
        ("fork_keys = ['a b']", "ui.fork_keys"),
        ("colour = 'red'", "ui.colour"),
    ],
)
def test_what_the_terminal_ui_cannot_be(tmp_path: Path, text: str, wrong: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"[ui]\n{text}\n")
    with pytest.raises(ConfigError, match=wrong):
        config.load(file)
