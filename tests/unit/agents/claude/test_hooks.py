"""Hooks in the settings of Claude Code: added in the style of the file, taken out again."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prong.agents.claude.settings.hooks import EVENTS, ClaudeHooks
from prong.errors import ConfigError
from prong.model.forks import Launch

FILE = Path("/home/ada/.claude/settings.json")
HOOKS = ClaudeHooks(FILE.parent)
COMMAND = ("/opt/prong/bin/prong-hook",)
OURS: dict[str, Any] = {
    "hooks": [{"type": "command", "command": "/opt/prong/bin/prong-hook claude", "timeout": 10}]
}
THEIRS: dict[str, Any] = {"matcher": "*", "hooks": [{"type": "command", "command": "say 'done'"}]}


def added(content: bytes | None) -> bytes:
    return HOOKS.added({FILE: content}, COMMAND).contents[FILE]


def taken_out(content: bytes) -> bytes:
    result = HOOKS.taken_out({FILE: content})[FILE]
    assert result is not None
    return result


@pytest.mark.parametrize("content", [None, b"", b" \n"], ids=["absent", "empty", "blank"])
def test_a_file_with_nothing_in_it(content: bytes | None) -> None:
    new = json.loads(added(content))
    assert new == {"hooks": {event: [OURS] for event in EVENTS}}


def test_the_hooks_of_the_user_stay_and_come_first() -> None:
    before = {"model": "opus", "hooks": {"Stop": [THEIRS], "PreToolUse": [THEIRS]}}
    after = json.loads(added(json.dumps(before, indent=2).encode()))
    assert after["hooks"]["Stop"] == [THEIRS, OURS]
    assert after["hooks"]["PreToolUse"] == [THEIRS]
    assert list(after) == ["model", "hooks"]


STYLES = {
    "two spaces": json.dumps({"a": {"b": [1, {}]}, "hooks": {"Stop": [THEIRS]}}, indent=2) + "\n",
    "four spaces": json.dumps({"a": 1, "hooks": {"Stop": [THEIRS]}}, indent=4),
    "tabs": json.dumps({"a": 1, "hooks": {"Stop": [THEIRS]}}, indent="\t") + "\n",
    "compact": '{"a":1,"b":{"c":[]}}',
    "one line": '{"a": 1, "hooks": {"Stop": []}, "z": [1, 2]}\n',
    "CRLF": json.dumps({"a": 1, "b": {"c": []}}, indent=2).replace("\n", "\r\n") + "\r\n",
    "BOM": "\ufeff" + json.dumps({"a": 1}, indent=2),
    "odd": '{ "a" :1,\n      "hooks":{"Stop" : [ ' + json.dumps(THEIRS) + " ]\n } }",
    "escapes": '{"a": "\\"hooks\\": {", "b": "}],\\\\", "\\u00e9": "é\u2028"}',
}


@pytest.mark.parametrize("style", STYLES)
def test_everything_else_stays_as_it_was_written(style: str) -> None:
    before = STYLES[style].encode()
    after = added(before)
    data, old = json.loads(after.decode("utf-8-sig")), json.loads(STYLES[style].lstrip("\ufeff"))
    assert {key: value for key, value in data.items() if key != "hooks"} == {
        key: value for key, value in old.items() if key != "hooks"
    }
    assert all(data["hooks"][event][-1] == OURS for event in EVENTS)
    # Only whole pieces were put in: what was there is there, in its order.
    rest = iter(after)
    assert all(byte in rest for byte in before)
    if style != "one line":  # which had an empty list of its own
        assert taken_out(after) == before


def test_indentation_and_line_ends_are_those_of_the_file() -> None:
    assert b'\n\t\t"SessionStart": [\n\t\t\t{\n' in added(STYLES["tabs"].encode())
    assert b"\n        " in added(STYLES["four spaces"].encode())
    crlf = added(STYLES["CRLF"].encode())
    assert crlf.count(b"\n") == crlf.count(b"\r\n")
    assert b"\n" not in added(STYLES["compact"].encode())
    assert b": " not in added(STYLES["compact"].encode()).replace(b"prong-hook claude", b"")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{\n  // mine\n  "a": 1\n}', "has comments"),
        (b'{"a": 1 /* mine */}', "has comments"),
        (b'{"a": [1,],}', "comma before a closing bracket"),
        (b'{"a": ', "is not JSON"),
        (b"[]", "must be an object"),
        (b'{"hooks": []}', '"hooks" must be an object'),
        (b'{"hooks": {"Stop": {}}}', "must be a list"),
        (b'{"hooks": {"Stop": [{"command": "x"}]}}', "must be a list of objects"),
        (b"\xff\xfe{\x00}\x00", "is not UTF-8"),
        (b'{"a": "' + b"[" * 9 + b'"' + b"}" * 2, "is not JSON"),
        (b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply"),
    ],
)
def test_a_file_that_would_be_damaged_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        added(content)
    assert str(FILE) in caught.value.message


def test_slashes_in_texts_are_no_comments() -> None:
    assert added(b'{"url": "https://example.org/*x*/", "b": "\\"//"}')


def test_only_our_entries_are_taken_out() -> None:
    mixed = {"hooks": [OURS["hooks"][0], *THEIRS["hooks"]]}
    data = {"hooks": {"Stop": [OURS, THEIRS, mixed], "SessionEnd": [OURS], "Setup": [THEIRS]}}
    for indent in (None, 2, "\t"):
        after = json.loads(taken_out(json.dumps(data, indent=indent).encode()))
        left = [THEIRS, {"hooks": THEIRS["hooks"]}]
        assert after == {"hooks": {"Stop": left, "Setup": [THEIRS]}}


def test_what_is_ours_is_told_by_the_program() -> None:
    for command in (
        "prong-hook claude",
        "'/home/a b/bin/prong-hook' claude",
        "/usr/bin/python3 -P -m prong.hook claude",
        "python -m prong.hook claude",
    ):
        group = {"hooks": [{"type": "command", "command": command}]}
        content = json.dumps({"a": 1, "hooks": {"Stop": [group]}}).encode()
        assert HOOKS.found({FILE: content}) == {"Stop": command}
        assert json.loads(taken_out(content)) == {"a": 1}


@pytest.mark.parametrize(
    "command",
    [
        "my-prong-hook claude",
        "echo prong-hook done",
        "echo prong-hook",
        "prong-hook",
        "prong-hook notify",
        "test -x /opt/prong-hook && mine",
        "/opt/prong-hook claude && mine",
        "/opt/prong-hook claude; mine",
        "/opt/prong-hook claude mine",
        "/opt/prong-hook claude &",
        "/opt/prong-hook $AGENT",
        "FAST=1 prong-hook claude",
        "python -P -m prong.hook claude | tee log",
        "python mine.py prong.hook claude",
        "'prong-hook claude",
    ],
)
def test_a_command_of_the_user_that_names_us_stays(command: str) -> None:
    group = {"hooks": [{"type": "command", "command": command}]}
    content = json.dumps({"a": 1, "hooks": {"Stop": [group]}}).encode()
    assert HOOKS.found({FILE: content}) == {}
    assert taken_out(content) == content
    both = added(content)
    assert json.loads(both)["hooks"]["Stop"] == [group, OURS]
    assert taken_out(both) == content


def test_a_path_with_spaces_is_quoted() -> None:
    new = HOOKS.added({FILE: None}, ("/home/a b/prong-hook",)).contents[FILE]
    assert set(HOOKS.found({FILE: new}).values()) == {"'/home/a b/prong-hook' claude"}


OFF, ON = '{"disableAllHooks": true}', '\ufeff{"disableAllHooks": false}'


@pytest.mark.parametrize(
    ("user", "project", "local", "where"),
    [
        (OFF, None, None, "user"),
        (None, OFF, None, "project"),
        (None, None, OFF, "local"),
        (OFF, "{}", "// {", "user"),
        (OFF, ON, "[]", None),
        (OFF, OFF, ON, None),
        ('{"disableAllHooks": "no"}', None, "", None),
    ],
)
def test_hooks_that_are_turned_off(
    tmp_path: Path, user: str | None, project: str | None, local: str | None, where: str | None
) -> None:
    folder = tmp_path / "shop"
    files = {
        "user": tmp_path / "root/settings.json",
        "project": folder / ".claude/settings.json",
        "local": folder / ".claude/settings.local.json",
    }
    for path, text in zip(files.values(), (user, project, local), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is not None:
            path.write_text(text)
    hooks = ClaudeHooks(tmp_path / "root")
    off = hooks.turned_off("project", folder)
    assert (off.message if off else None) == (
        f'{files[where]} has "disableAllHooks": Claude Code runs none' if where else None
    )
    # Those for all folders do not depend on this one.
    assert (hooks.turned_off("user", folder) is not None) == (user == OFF)


def test_the_files(tmp_path: Path) -> None:
    assert HOOKS.files("user", tmp_path) == (FILE,)
    assert HOOKS.files("project", tmp_path) == (tmp_path / ".claude/settings.local.json",)


class TestOneRun:
    """Hooks that a launch has without any installation."""

    def settings(self, folder: Path, *words: str) -> tuple[dict[str, Any], list[str]]:
        """What Claude Code is told to read, and the other words of the launch."""
        launch = Launch(("claude", *words), folder, {}, "")
        argv = HOOKS.for_one_run(launch, COMMAND, folder / "new").argv
        program, flag, path, *rest = argv
        assert (program, flag) == ("claude", "--settings")
        assert Path(path).stat().st_mode & 0o777 == 0o600
        return json.loads(Path(path).read_bytes()), rest

    def test_a_file_of_ours(self, tmp_path: Path) -> None:
        settings, rest = self.settings(tmp_path, "--resume", "x", "--", "--settings")
        assert settings == {"hooks": {event: [OURS] for event in EVENTS}}
        assert rest == ["--resume", "x", "--", "--settings"]

    @pytest.mark.parametrize("attached", [True, False])
    @pytest.mark.parametrize("inline", [True, False])
    def test_settings_of_the_command_stay(
        self, tmp_path: Path, attached: bool, inline: bool
    ) -> None:
        theirs = json.dumps({"model": "opus", "hooks": {"Stop": [THEIRS]}})
        (tmp_path / "mine.json").write_text(theirs)
        value = theirs if inline else "mine.json"
        given = [f"--settings={value}"] if attached else ["--settings", value]
        settings, rest = self.settings(tmp_path, "--settings", "old.json", "-c", *given)
        assert settings["model"] == "opus"
        assert settings["hooks"]["Stop"] == [THEIRS, OURS]
        assert rest == ["-c"]

    def test_settings_that_cannot_be_read(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"cannot read nowhere\.json"):
            self.settings(tmp_path, "--settings", "nowhere.json")

    def test_files_of_old_runs_are_removed(self, tmp_path: Path) -> None:
        self.settings(tmp_path)
        (recent,) = (tmp_path / "new").iterdir()
        theirs = json.dumps({"model": "opus"})
        self.settings(tmp_path, "--settings", theirs)
        (old,) = set((tmp_path / "new").iterdir()) - {recent}
        backup = tmp_path / "new" / "0123456789abcdef.json"
        backup.write_text("{}")
        for path in (recent, old, backup):
            os.utime(path, (0, 0))
        # What is started again is as good as new.
        self.settings(tmp_path)
        assert set((tmp_path / "new").iterdir()) == {recent, backup}

    def test_a_line_for_a_shell(self, tmp_path: Path) -> None:
        launch = Launch(("sh", "-c", "cd x && claude --resume y"), tmp_path, {}, "")
        argv = HOOKS.for_one_run(launch, COMMAND, tmp_path).argv
        assert argv[:2] == ("sh", "-c")
        assert argv[2].startswith("cd x && claude --settings ")
        assert argv[2].endswith(" --resume y")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def files(draw: st.DrawFn) -> dict[str, Any]:
    """Settings with hooks, or without."""
    keys = texts.filter(lambda key: key != "hooks")
    data = draw(st.dictionaries(keys, values, min_size=1, max_size=4))
    events = draw(st.sets(st.sampled_from([*EVENTS, "PreToolUse"]), max_size=4))
    commands = st.lists(texts, min_size=1, max_size=3)
    hooks = {
        event: [{"hooks": [{"command": text}]} for text in draw(commands)]
        for event in sorted(events)
    }
    return data | ({"hooks": hooks} if hooks else {})


@settings(deadline=None)
@given(
    files(), st.sampled_from([None, 0, 1, 2, 4, "\t"]), st.booleans(), st.sampled_from(["\n", ""])
)
def test_adding_and_taking_out_gives_the_same_bytes(
    data: dict[str, Any], indent: int | str | None, windows: bool, end: str
) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=False) + end
    before = (text.replace("\n", "\r\n") if windows else text).encode()
    after = added(before)
    new = json.loads(after)
    assert {key: value for key, value in new.items() if key != "hooks"} == {
        key: value for key, value in data.items() if key != "hooks"
    }
    for event in EVENTS:
        assert new["hooks"][event] == [*data.get("hooks", {}).get(event, []), OURS]
    assert taken_out(after) == before
