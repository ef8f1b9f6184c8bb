"""The configuration file. What the command line says about a wrong one is in tests/cli."""

from pathlib import Path

import pytest

from prong import config
from prong.config import Config, Workspace
from prong.errors import ConfigError
from prong.testing.home import IsolatedHome


def load(folder: Path, text: str) -> Config:
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return config.load(path)


def test_no_file_is_an_empty_one(tmp_path: Path) -> None:
    assert config.load(tmp_path / "none.toml") == Config()
    assert load(tmp_path, "") == Config()
    assert load(tmp_path, "[agents]") == Config()
    assert load(tmp_path, "[agents.claude]").extra_roots == {"claude": ()}
    assert load(tmp_path, "[workspace]").workspace == Workspace()


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
    "text",
    [
        *("x = 1", "agents = []", "=", "\x00", "[agents.a]\nx = 1"),
        *("[agents.a]\nroots = [true]", "[agents.a]\nroots = 'x'", "[agents.a]\nroots = ['x']"),
        *("[agents.a]\ncommand = 1", "[agents.a]\ncommand = [1]", "[agents.a]\ncommand = ['a', 1]"),
        *("workspace = 1", "[workspace]\nx = 1", "[workspace]\nroot = 1"),
        *("[workspace]\nroot = 'here'", "[workspace]\nroot = ''", "[workspace]\ncopy = '.env'"),
        *("[workspace]\ncopy = ['']", "[workspace]\nlink = ['!a']", "[workspace]\nlink = [1]"),
        *("[agents.a]\ncommand = ' '", "[agents.a]\ncommand = []", "[agents.a]\ncommand = ['']"),
    ],
)
def test_anything_else_is_an_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert caught.value.message.startswith(f"{tmp_path / 'config.toml'}: ")
    assert caught.value.hint
