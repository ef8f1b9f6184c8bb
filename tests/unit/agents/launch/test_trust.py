"""Trust in folders, recorded as the agents do. That they do so is in tests/e2e."""

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.settings import trust as codex_trust
from prong.agents.codex.store import CodexStore
from prong.errors import ConfigError
from prong.testing.home import IsolatedHome


@pytest.fixture
def worktree(isolated_home: IsolatedHome) -> Path:
    path = isolated_home.root / "elsewhere" / "worktree"
    argv = ["git", "worktree", "add", "--quiet", str(path)]
    subprocess.run(argv, cwd=isolated_home.project("shop"), check=True, capture_output=True)
    return path


def claude_file(home: IsolatedHome, *trusted: Path) -> Path:
    path = home.root / ".claude.json"
    projects = {str(one): {"hasTrustDialogAccepted": True} for one in trusted}
    path.write_text(json.dumps({"projects": projects}))
    return path


class TestClaude:
    def test_which_folders_count(self, isolated_home: IsolatedHome, worktree: Path) -> None:
        store = ClaudeStore([isolated_home.claude])
        shop = isolated_home.project("shop")
        for folder in (shop / "inner", worktree / "inner", isolated_home.root / "plain/deep"):
            folder.mkdir(parents=True)
        claude_file(isolated_home, shop, isolated_home.root / "plain", worktree.parent)
        assert all(map(store.is_trusted, (shop, shop / "inner", worktree, worktree / "inner")))
        assert store.is_trusted(isolated_home.root / "plain/deep")
        # A folder above a repository says nothing about it, nor one inside about the whole.
        claude_file(isolated_home, shop.parent, worktree.parent, shop / "inner")
        assert not store.is_trusted(shop)
        assert not store.is_trusted(worktree)
        assert store.is_trusted(shop / "inner")

    def test_a_worktree_is_its_repository(
        self, isolated_home: IsolatedHome, worktree: Path
    ) -> None:
        store = ClaudeStore([isolated_home.claude])
        path = claude_file(isolated_home)
        named, before, after = store.trusting(worktree)
        assert (named, before) == (path, path.read_bytes())
        path.write_bytes(after)
        assert list(json.loads(after)["projects"]) == [str(isolated_home.project("shop"))]
        assert store.is_trusted(worktree)
        assert store.trusting(worktree)[2] == after

    def test_the_rest_stays_as_it_is(self, isolated_home: IsolatedHome, tmp_path: Path) -> None:
        store = ClaudeStore([isolated_home.claude])
        path = isolated_home.root / ".claude.json"
        entry = '    "%s": {\n      "hasTrustDialogAccepted": false\n    }\n'
        text = f'{{\n  "a": 1.50,\n  "projects": {{\n{entry}  }},\n  "ü": "\\u00fc"\n}}'
        path.write_text(text % tmp_path)
        assert store.trusting(tmp_path)[2].decode() == (text % tmp_path).replace("false", "true")

    def test_nothing_there(self, isolated_home: IsolatedHome, tmp_path: Path) -> None:
        store = ClaudeStore([isolated_home.claude])
        assert not store.is_trusted(tmp_path)
        path, before, after = store.trusting(tmp_path)
        assert (path, before) == (isolated_home.root / ".claude.json", None)
        assert json.loads(after)["projects"][str(tmp_path)]["hasTrustDialogAccepted"] is True
        # Another root has a file of its own.
        other = isolated_home.root / "other"
        assert store.trusting(tmp_path, other)[0] == other / ".claude.json"

    @pytest.mark.parametrize(
        "text", ["{", "[]", '{"projects": []}', '{"projects": {"PATH": 1}}', '{"a": 1} // mine']
    )
    def test_what_cannot_be_edited(
        self, isolated_home: IsolatedHome, tmp_path: Path, text: str
    ) -> None:
        (isolated_home.root / ".claude.json").write_text(text.replace("PATH", str(tmp_path)))
        store = ClaudeStore([isolated_home.claude])
        assert not store.is_trusted(tmp_path)
        with pytest.raises(ConfigError):
            store.trusting(tmp_path)


class TestCodex:
    def test_which_folders_count(self, isolated_home: IsolatedHome, worktree: Path) -> None:
        store = CodexStore([isolated_home.codex])
        shop = isolated_home.project("shop")
        assert not store.is_trusted(worktree)
        assert not store.is_trusted(shop)
        path, before, after = store.trusting(worktree)
        assert (path, before) == (isolated_home.codex / "config.toml", None)
        assert after.decode() == f'[projects."{shop}"]\ntrust_level = "trusted"\n'
        path.write_bytes(after)
        assert store.is_trusted(worktree)
        assert store.is_trusted(shop)
        # Without git it does not ask.
        assert store.is_trusted(isolated_home.root)

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("a = 1", 'a = 1\n\n[projects."DIR"]\ntrust_level = "trusted"\n'),
            ("a = 1\r\n", 'a = 1\r\n\r\n[projects."DIR"]\r\ntrust_level = "trusted"\r\n'),
            (
                '[projects."DIR"]\ntrust_level = "untrusted"\nb = 2\n[c]\n',
                '[projects."DIR"]\ntrust_level = "trusted"\nb = 2\n[c]\n',
            ),
            (
                "[ projects . 'DIR' ] # mine\nb = 2\n",
                "[ projects . 'DIR' ] # mine\ntrust_level = \"trusted\"\nb = 2\n",
            ),
        ],
    )
    def test_the_rest_stays_as_it_is(
        self, isolated_home: IsolatedHome, tmp_path: Path, before: str, after: str
    ) -> None:
        path = isolated_home.codex / "config.toml"
        path.write_text(before.replace("DIR", str(tmp_path)), newline="")
        edited = CodexStore([isolated_home.codex]).trusting(tmp_path)[2]
        assert edited.decode() == after.replace("DIR", str(tmp_path))

    @pytest.mark.parametrize(
        "text",
        [
            "a = ",
            "projects = 1\n",
            "projects = {}\n",
            'projects = {"DIR" = {trust_level = "untrusted"}}\n',
            'projects."DIR".trust_level = "untrusted"\n',
            '[projects]\n"DIR" = 1\n',
        ],
    )
    def test_what_cannot_be_edited(
        self, isolated_home: IsolatedHome, tmp_path: Path, text: str
    ) -> None:
        path = isolated_home.codex / "config.toml"
        path.write_text(text.replace("DIR", str(tmp_path)))
        with pytest.raises(ConfigError):
            CodexStore([isolated_home.codex]).trusting(tmp_path)


KEYS = st.text(min_size=1, max_size=6).filter(lambda text: "\0" not in text and "/" not in text)


@given(KEYS, st.dictionaries(st.text("abc", min_size=1), st.integers(), max_size=3))
def test_any_folder(tmp_path_factory: pytest.TempPathFactory, name: str, rest: Any) -> None:
    root = tmp_path_factory.getbasetemp()
    text = "".join(f"{key} = {value}\n" for key, value in rest.items() if abs(value) < 2**63)
    (root / "config.toml").write_text(text)
    try:
        _, before, after = codex_trust.edited(root / name, root)
    except (ConfigError, UnicodeEncodeError):
        return
    table = tomllib.loads(after.decode())
    assert after.startswith(before or b"")
    (key,) = table.pop("projects")
    assert Path(key).parent == root.resolve() or key in (str(root.resolve()), str(root.parent))
    assert table == tomllib.loads(text)
