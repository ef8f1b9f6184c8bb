"""Hooks in the settings of Codex: hooks.json, the trust in config.toml, notify."""

import json
import shlex
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from prong.agents.codex.settings.hooks import EVENTS, CodexHooks
from prong.errors import ConfigError, External
from prong.model.forks import Launch
from tests.unit.agents.codex import hook_server

COMMAND = ("/opt/prong/bin/prong-hook",)
LINE = "/opt/prong/bin/prong-hook codex"
THEIRS: dict[str, Any] = {"hooks": [{"type": "command", "command": "say done"}]}
CONFIG = '# mine\nmodel = "fake"\n\n[tui]\nanimations = false\n'

Files = dict[Path, bytes | None]


class Desk:
    """A root, and the hooks of a fake Codex."""

    def __init__(self, root: Path) -> None:
        program = root.parent / "codex"
        program.write_text(hook_server.PROGRAM)
        program.chmod(0o755)
        self.hooks = CodexHooks(root, [str(program)])
        self.file, self.config = self.hooks.files("user", root)

    def files(self, hooks: Any, config: str | None) -> Files:
        content = None if hooks is None else json.dumps(hooks, indent=2).encode()
        return {self.file: content, self.config: config.encode() if config is not None else None}

    def added(self, files: Files) -> Files:
        return dict(self.hooks.added(files, COMMAND).contents)

    def table(self, files: Files) -> dict[str, Any]:
        return tomllib.loads((files[self.config] or b"").decode())

    def trusted(self, files: Files) -> dict[str, str]:
        states = self.table(files).get("hooks", {}).get("state", {})
        return {
            key.removeprefix(f"{self.file}:"): one["trusted_hash"] for key, one in states.items()
        }


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    root = tmp_path / "codex root"
    root.mkdir()
    return Desk(root)


def test_nothing_there(desk: Desk) -> None:
    new = desk.added(desk.files(None, None))
    hooks = json.loads(new[desk.file] or b"")["hooks"]
    assert list(hooks) == list(EVENTS)
    assert hooks["Stop"] == [{"hooks": [{"type": "command", "command": LINE, "timeout": 10}]}]
    assert hooks["SessionEnd"][0]["hooks"][0]["timeout"] == 3  # of more, Codex warns
    assert desk.table(new)["notify"] == [*COMMAND, "codex", "notify"]
    assert desk.trusted(new) == {
        f"{hook_server.snake(event)}:0:0": hook_server.hash_of(event, LINE) for event in EVENTS
    }


def test_what_is_there_stays_and_comes_back(desk: Desk) -> None:
    before = desk.files({"hooks": {"Stop": [THEIRS]}}, CONFIG)
    new = desk.added(before)
    assert json.loads(new[desk.file] or b"")["hooks"]["Stop"][0] == THEIRS
    assert "stop:1:0" in desk.trusted(new)
    assert CONFIG.encode() in (new[desk.config] or b"")
    assert desk.hooks.taken_out(new) == before


def test_windows_lines_a_missing_end_and_a_bom(desk: Desk) -> None:
    for text in (CONFIG.replace("\n", "\r\n"), CONFIG.rstrip(), "\ufeff" + CONFIG, ""):
        before = desk.files({"hooks": {"Stop": [THEIRS]}}, text)
        new = desk.added(before)
        again = (desk.hooks.taken_out(new)[desk.config] or b"").decode()
        # A last line without its end gets one; install and remove without others' changes is
        # exact, since the bytes are kept.
        assert again.rstrip() == text.rstrip()
        content = (new[desk.config] or b"").decode()
        assert ("\r\n" in text) == (content.count("\n") == content.count("\r\n"))


def test_a_notify_of_the_user_stays_alone(desk: Desk) -> None:
    files = desk.files(None, 'notify = ["mine"]\n')
    told = desk.hooks.added(files, COMMAND)
    assert desk.table(dict(told.contents))["notify"] == ["mine"]
    assert "notify of yours" in told.notes[0]
    assert (desk.hooks.taken_out(dict(told.contents))[desk.config] or b"").startswith(
        b'notify = ["mine"]\n'
    )
    (desk.config).write_text('notify = ["mine"]\n')
    words = one_run(desk, "codex resume x")
    assert words[-2:] == ["resume", "x"]
    assert not any(word.startswith("notify") for word in words)


@pytest.mark.parametrize("words", ['["say", "prong-hook codex"]', '["sh", "prong-hook", "codex"]'])
def test_a_notify_that_names_us_is_the_users(desk: Desk, words: str) -> None:
    files = desk.files(None, f"notify = {words}\n")
    assert desk.hooks.found(files) == {}
    assert "notify of yours" in desk.hooks.added(files, COMMAND).notes[0]


def one_run(desk: Desk, line: str) -> list[str]:
    launch = Launch(tuple(shlex.split(line)), desk.config.parent, {}, "")
    return list(desk.hooks.for_one_run(launch, COMMAND, desk.config.parent).argv)


def settings(words: list[str]) -> dict[str, Any]:
    """What the command line sets, all together."""
    found: dict[str, Any] = {}
    for flag, setting in pairwise(words):
        if flag == "-c":
            table = tomllib.loads(setting)
            found = {
                **found,
                **table,
                "hooks": {**found.get("hooks", {}), **table.get("hooks", {})},
            }
    return found


@pytest.mark.parametrize("line", ["codex resume x -- -p", "timeout 5 codex -m y resume x"])
def test_hooks_for_one_run(desk: Desk, line: str) -> None:
    words = one_run(desk, line)
    at = words.index("codex") + 1
    added = 2 * (len(EVENTS) + 2)
    assert [*words[:at], *words[at + added :]] == shlex.split(line)
    told = settings(words)
    assert told["notify"] == [*COMMAND, "codex", "notify"]
    hooks = told["hooks"]
    for event in EVENTS:
        [group] = hooks[event]
        assert group["hooks"][0]["command"] == LINE
        place = f"/<session-flags>/config.toml:{hook_server.snake(event)}:0:0"
        assert hooks["state"][place] == {"trusted_hash": hook_server.hash_of(event, LINE)}


def test_codex_is_asked_once_for_what_it_calls_the_hooks(desk: Desk) -> None:
    first = one_run(desk, "codex resume x")
    [kept] = desk.config.parent.glob("codex-*.json")
    kept.write_text(kept.read_text().replace("sha256:", "sha256:kept"))
    assert one_run(desk, "codex resume x") != first


def test_what_is_installed_is_not_called_twice(desk: Desk) -> None:
    for path, content in desk.added(desk.files(None, CONFIG)).items():
        path.write_bytes(content or b"")
    assert settings(one_run(desk, "codex resume x")).keys() == {"notify", "hooks"}
    assert settings(one_run(desk, "codex resume x"))["hooks"] == {}
    # An older installation knew fewer events, and Codex runs none that nobody trusts.
    text = desk.config.read_text()
    desk.config.write_text(text.replace(":permission_request:", ":something_else:"))
    hooks = settings(one_run(desk, "codex resume x"))["hooks"]
    assert hooks.keys() == {"PermissionRequest", "state"}


def test_without_hooks_there_is_still_notify(desk: Desk) -> None:
    (desk.config.parent.parent / "codex").unlink()
    told = settings(one_run(desk, "codex resume x"))
    assert told == {"notify": [*COMMAND, "codex", "notify"], "hooks": {}}


@pytest.mark.parametrize("given", ["-c notify=['mine']", "--config=notify=['mine']"])
def test_a_notify_of_the_command_stays(desk: Desk, given: str) -> None:
    line = f"codex {given} resume x"
    words = one_run(desk, line)
    assert words[-len(shlex.split(line)) + 1 :] == shlex.split(line)[1:]
    assert sum(word.partition("=")[0] == "notify" for word in words) == given.startswith("-c")


def test_codex_has_changed_its_settings_since(desk: Desk) -> None:
    new = desk.added(desk.files(None, CONFIG))
    config = (new[desk.config] or b"").decode()
    more = '\n# said by me\n[projects."/x"]\ntrust_level = "trusted"\n'
    marked = config.replace(
        f'[hooks.state."{desk.file}:stop:0:0"] # prong\n',
        f'[hooks.state."{desk.file}:stop:0:0"] # prong\nenabled = true\n',
    )
    assert marked != config
    after = desk.hooks.taken_out({**new, desk.config: (marked + more).encode()})
    assert (after[desk.config] or b"").decode() == CONFIG + more


def test_hooks_behind_ours_keep_their_trust(desk: Desk) -> None:
    new = desk.added(desk.files({"hooks": {"Stop": [THEIRS]}}, CONFIG))
    hooks = json.loads(new[desk.file] or b"")
    hooks["hooks"]["Stop"].append(THEIRS)
    config = (new[desk.config] or b"").decode()
    for place in ("stop:0:0", "stop:2:0", "session_end:1:0", "pre_tool_use:3:0"):
        config += f'[hooks.state."{desk.file}:{place}"]\ntrusted_hash = "x"\n'
    config += '[hooks.state."/other/hooks.json:stop:2:0"]\ntrusted_hash = "x"\n'
    after = dict(desk.hooks.taken_out(desk.files(hooks, config)))
    assert json.loads(after[desk.file] or b"")["hooks"] == {"Stop": [THEIRS, THEIRS]}
    places = {"stop:0:0", "stop:1:0", "session_end:0:0", "pre_tool_use:3:0"}
    # Nobody knows of a second group under SessionEnd: it was the user's line, and moves as well.
    assert set(desk.trusted(after)) == {*places, "/other/hooks.json:stop:2:0"}


def test_two_places_share_one_config(desk: Desk, tmp_path: Path) -> None:
    user = desk.added(desk.files(None, CONFIG))
    project = desk.hooks.files("project", tmp_path / "shop")
    both = desk.hooks.added({project[0]: None, desk.config: user[desk.config]}, COMMAND)
    assert not both.notes
    files = dict(both.contents)
    left = desk.hooks.taken_out({project[0]: files[project[0]], desk.config: files[desk.config]})
    assert left[desk.config] == user[desk.config]
    other = desk.hooks.taken_out({desk.file: user[desk.file], desk.config: files[desk.config]})
    assert b"notify" not in (other[desk.config] or b"")
    last = desk.hooks.taken_out({project[0]: files[project[0]], desk.config: other[desk.config]})
    assert last[desk.config] == CONFIG.encode()


def test_a_project_has_no_notify(desk: Desk, tmp_path: Path) -> None:
    """It has no folder: Codex would call it for the turns of every project."""
    hooks, config = desk.hooks.files("project", tmp_path / "shop")
    told = desk.hooks.added({hooks: None, config: CONFIG.encode()}, COMMAND)
    files = dict(told.contents)
    assert "notify" not in desk.table(dict(files))
    assert set(desk.hooks.found(dict(files))) == {
        *EVENTS,
        *(f"trust of {event}" for event in EVENTS),
    }
    # A notify of the user is none of its business.
    theirs = desk.hooks.added({hooks: None, config: b'notify = ["mine"]\n'}, COMMAND)
    assert not theirs.notes
    # Nor is that of the hooks for all folders.
    both = desk.hooks.added(
        {hooks: None, config: desk.added(desk.files(None, ""))[config]}, COMMAND
    )
    assert "notify" not in desk.hooks.found(dict(both.contents))
    other = desk.hooks.files("project", tmp_path / "other")
    assert desk.hooks.found({other[0]: None, config: both.contents[config]}) == {}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("model = ", "is not TOML"),
        ("hooks = { state = {} }\n", "in a form that prong cannot add to"),
        ("[hooks]\nstate = {}\n", "in a form that prong cannot add to"),
    ],
)
def test_a_config_that_would_be_damaged_is_refused(desk: Desk, config: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        desk.added(desk.files(None, config))


def test_hooks_that_codex_does_not_know(desk: Desk) -> None:
    program = desk.file.parent.parent / "codex"
    source = program.read_text().replace("serve()\n", "hook_server.listing = dict\nserve()\n")
    program.write_text(
        source.replace("from tests", "from tests.unit.agents.codex import hook_server\nfrom tests")
    )
    with pytest.raises(External, match="does not understand"):
        desk.added(desk.files(None, None))


def test_what_is_found(desk: Desk) -> None:
    files = desk.files(None, None)
    assert desk.hooks.found(files) == {}
    found = desk.hooks.found(desk.added(files))
    assert found["Stop"] == LINE
    assert found["trust of Stop"] == hook_server.hash_of("Stop", LINE)
    assert found["notify"] == f"{LINE} notify"
    new = desk.added(files)
    untrusted = desk.hooks.found({desk.file: new[desk.file], desk.config: b""})
    assert untrusted["trust of Stop"] == "none"
