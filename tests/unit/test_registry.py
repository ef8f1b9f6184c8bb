"""Agents are found by name; built-ins come through the same door as plug-ins."""

from pathlib import Path

import pytest

from prong.plugins import BUILT_IN, PlugIn, Registry
from prong.testing.home import IsolatedHome
from tests.packages import install


@pytest.fixture(autouse=True)
def _home(isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRONG_PLUGINS", raising=False)


def test_built_ins_have_the_name_they_are_known_by() -> None:
    stores = Registry().stores
    assert list(stores) == list(BUILT_IN) == ["claude", "codex"]
    assert {name: store.name for name, store in stores.items()} == {n: n for n in stores}


def test_each_store_is_made_once() -> None:
    registry = Registry()
    assert registry.stores is registry.stores


def test_more_roots_come_after_its_own(isolated_home: IsolatedHome) -> None:
    stores = Registry({"claude": (Path("/more"),)}).stores
    assert list(stores["claude"].roots) == [isolated_home.claude, Path("/more")]
    assert list(stores["codex"].roots) == [isolated_home.codex]


def test_a_root_that_is_there_already_is_not_added(isolated_home: IsolatedHome) -> None:
    link = isolated_home.root / "link"
    link.symlink_to(isolated_home.claude)
    stores = Registry({"claude": (link, Path("/more"), Path("/more"))}).stores
    assert list(stores["claude"].roots) == [isolated_home.claude, Path("/more")]


def test_an_agent_that_looks_elsewhere(tmp_path: Path) -> None:
    assert list(Registry().make("codex", [tmp_path]).roots) == [tmp_path]


def test_a_broken_plug_in_is_remembered_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("x", "no.such:Thing"))
    registry = Registry()
    assert list(registry.stores) == ["claude", "codex"]
    assert registry.plug_ins == [
        PlugIn("x", "no.such:Thing", "ModuleNotFoundError: No module named 'no'")
    ]


def test_a_plug_in_cannot_replace_a_built_in(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("claude", BUILT_IN["codex"]))
    registry = Registry()
    assert registry.stores["claude"].name == "claude"
    assert registry.plug_ins[0].error == "ValueError: another plug-in already provides agent claude"


@pytest.mark.parametrize(
    ("wanted", "loaded"), [("none", []), ("x", ["x"]), ("x, y", ["x", "y"]), ("", [])]
)
def test_plug_ins_can_be_chosen(
    monkeypatch: pytest.MonkeyPatch, wanted: str, loaded: list[str]
) -> None:
    install(monkeypatch, ("x", "no.such:Thing"), ("y", "no.such:Thing"))
    monkeypatch.setenv("PRONG_PLUGINS", wanted)
    registry = Registry()
    assert registry.stores
    assert [plug_in.name for plug_in in registry.plug_ins] == loaded
