"""The hooks of Codex: hooks.json, the trust that config.toml gives them, and `notify`.

Codex runs a hook only when config.toml holds the hash of it under the hook's place. Only Codex
computes that hash, so its app-server is asked, in a throw-away folder. Our lines in config.toml are
marked, since Codex edits that file, too, and keeps comments.
"""

import json
import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from prong.agents import argv
from prong.agents.argv import Command
from prong.agents.base import HookedFiles, HookScope
from prong.agents.codex.app_server import AppServer
from prong.agents.codex.launch import GRAMMAR, PROGRAM, server_argv
from prong.agents.codex.settings import config_file, run_hooks
from prong.agents.settings import file
from prong.agents.settings.file import NOTIFY, SettingsText
from prong.agents.shell import Word
from prong.errors import ConfigError, External, Unavailable
from prong.files.edits import read
from prong.model.forks import Launch
from prong.model.record import Record, replace

EVENTS = ("SessionStart", "UserPromptSubmit", "PermissionRequest", "Stop", "SessionEnd")
_TIMEOUTS = {"SessionEnd": 3}
"""Codex allows no more, and would warn of it at every start."""
_MARK = "# prong"
_TRUST = re.compile(r'\[hooks\.state\.(?P<key>"(?:[^"\\]|\\.)*")\]')
_OURS = re.compile(rf"^\[hooks\.state\..*\] {_MARK}\r?$", re.MULTILINE)
_NOTIFY = re.compile(rf"^notify *=.*{_MARK}\r?\n", re.MULTILINE)
_QUIET = (
    "analytics.enabled=false",
    "check_for_update_on_startup=false",
    "features.plugins=false",
    "features.remote_plugin=false",
    "features.apps=false",
)
"""For a server that is asked about hooks and nothing else."""


class CodexHooks:
    """Where they are kept and how they are written."""

    agent = "codex"

    def __init__(self, root: Path, program: Command) -> None:
        self._root = root
        self._program = program

    def files(self, scope: HookScope, folder: Path) -> Sequence[Path]:
        # Codex names a hook by the real path of its folder.
        base = self._root if scope == "user" else Path(os.path.realpath(folder)) / ".codex"
        return (base / "hooks.json", self._root / "config.toml")

    def added(self, contents: Mapping[Path, bytes | None], command: Sequence[str]) -> HookedFiles:
        (hooks, old), (config, settings) = contents.items()
        table = config_file.table(config, settings)
        line = file.command_line([*command, self.agent])
        new = file.with_hooks(hooks, old, dict.fromkeys(EVENTS, line), _TIMEOUTS)
        decoded = SettingsText.decode(config, settings)
        text, end = decoded.text, config_file.line_end(decoded.text)
        notes: list[str] = []
        expected = dict(table)
        if not self._is_for_all_folders(hooks) or _is_ours(table.get(NOTIFY)):
            pass  # it knows no folders: that of a project would tell of the turns in all
        elif NOTIFY in table:
            notes.append(f"{config} has a notify of yours, which stays; the hooks do without it")
        else:
            expected[NOTIFY] = [*command, self.agent, NOTIFY]
            words = json.dumps(expected[NOTIFY], ensure_ascii=False)
            text = f"notify = {words} {_MARK}{end}{text}"
        if text and not text.endswith("\n"):
            text += end
        known = table.get("hooks", {})
        states = dict(known.get("state", {}))
        expected["hooks"] = {**known, "state": states}
        for place, hash_ in self._hashes(new).items():
            key = f"{_real(hooks)}:{place}"
            states[key] = {"trusted_hash": hash_}
            name = json.dumps(key, ensure_ascii=False)
            text += f'{end}[hooks.state.{name}] {_MARK}{end}trusted_hash = "{hash_}"{end}'
        if not config_file.says(text, expected):
            message = (
                f'{config} has "hooks" in a form that prong cannot add to: it leaves it unchanged'
            )
            raise ConfigError(message, hint="write [hooks.state] as a table", path=str(config))
        return HookedFiles({hooks: new, config: decoded.encode(text)}, tuple(notes))

    def taken_out(self, contents: Mapping[Path, bytes | None]) -> Mapping[Path, bytes | None]:
        (hooks, old), (config, settings) = contents.items()
        new = file.without_hooks(hooks, old)
        if settings is None:
            return {hooks: new, config: None}
        decoded = SettingsText.decode(config, settings)
        config_file.table(config, settings)  # raises for what is not TOML
        moved = _Places(f"{_real(hooks)}:", _vanishing_groups(hooks, old, new))
        text = moved.without_ours(decoded.text)
        if self._is_for_all_folders(hooks) or not _OURS.search(text):
            text = _NOTIFY.sub("", text, count=1)
        return {hooks: new, config: decoded.encode(text)}

    def found(self, contents: Mapping[Path, bytes | None]) -> Mapping[str, str]:
        (hooks, old), (config, settings) = contents.items()
        table = config_file.table(config, settings)
        states: Any = cast(dict[str, Any], table.get("hooks") or {}).get("state") or {}
        result: dict[str, str] = {}
        for place in file.places(hooks, old):
            result[place.event] = place.command
            state: Any = states.get(f"{_real(hooks)}:{_snake(place.event)}:{place.group}:0") or {}
            result[f"trust of {place.event}"] = str(state.get("trusted_hash", "none"))
        words: Any = table.get(NOTIFY)
        if self._is_for_all_folders(hooks) and _is_ours(words):
            result[NOTIFY] = file.command_line(cast(list[str], words))
        return result

    def for_one_run(self, launch: Launch, command: Sequence[str], folder: Path) -> Launch:
        """By settings on the command line: hooks, the trust in them, and a `notify`.

        A `notify` of the user stays, and ours would not run then.
        """
        root = Path(launch.env.get("CODEX_HOME") or self._root)
        config = root / "config.toml"
        theirs: Any = config_file.table(config, read(config)).get(NOTIFY)
        own = json.dumps([*command, self.agent, NOTIFY], ensure_ascii=False)
        there = CodexHooks(root, self._program).installed(launch.cwd)
        events = [event for event in EVENTS if event not in there]
        line, server = [*command, self.agent], server_argv(self._program)
        settings = run_hooks.settings(line, events, _TIMEOUTS, server, folder, self._hashes)

        def change(words: Sequence[Word]) -> Sequence[Word]:
            given = [one for one in GRAMMAR.arguments(words) if one.flag in ("-c", "--config")]
            taken = any(one.value.partition("=")[0].strip() == NOTIFY for one in given)
            taken = taken or (theirs is not None and not _is_ours(theirs))
            wanted = [*settings, *([] if taken else [f"{NOTIFY}={own}"])]
            return [*(Word.of(text) for one in wanted for text in ("-c", one)), *words]

        return replace(launch, argv=argv.rebuilt(launch.argv, PROGRAM, change))

    def installed(self, folder: Path) -> set[str]:
        """The events of which Codex tells us in a folder anyway."""
        there: set[str] = set()
        for scope in ("user", "project"):
            found = self.found({path: read(path) for path in self.files(scope, folder)})
            there |= {one for one in EVENTS if found.get(f"trust of {one}", "none") != "none"}
        return there

    def _is_for_all_folders(self, hooks: Path) -> bool:
        return _real(hooks).parent == Path(os.path.realpath(self._root))

    def _hashes(self, content: bytes) -> dict[str, str]:
        """The place of each of our hooks in this hooks.json, and what Codex calls its hash."""
        program = server_argv(self._program)
        if shutil.which(program[0]) is None:
            hint = "npm install -g @openai/codex"
            raise Unavailable(f"{program[0]} is not installed", hint=hint)
        with tempfile.TemporaryDirectory(prefix="prong-") as name:
            root = Path(os.path.realpath(name))
            path = root / "hooks.json"
            path.write_bytes(content)
            quiet = [word for setting in _QUIET for word in ("-c", setting)]
            with AppServer([*program, *quiet], root) as server:
                answer = server.call("hooks/list", cwds=[str(root)])
        found: dict[str, str] = {}
        for hook in _listed(answer):
            key, hash_, line = (str(hook.get(one)) for one in ("key", "currentHash", "command"))
            if file.is_ours(line) and key.startswith(f"{path}:"):
                found[key.removeprefix(f"{path}:")] = hash_
        if len(found) != len(file.places(path, content)):
            raise External(
                "codex does not understand the hooks that prong would write",
                hint="update it: npm install -g @openai/codex",
                answer=answer,
            )
        return found


def _listed(answer: dict[str, Any]) -> list[dict[str, Any]]:
    data: Any = answer.get("data")
    folders = cast(list[dict[str, Any]], data) if isinstance(data, list) else []
    return [hook for folder in folders for hook in folder.get("hooks", [])]


def _real(path: Path) -> Path:
    """How Codex names a hooks.json: the folder is resolved, the file is not."""
    return Path(os.path.realpath(path.parent)) / path.name


def _snake(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def _is_ours(words: Any) -> bool:
    texts = cast(list[Any], words) if isinstance(words, list) else []
    return all(isinstance(word, str) for word in texts) and file.is_call(texts)


def _vanishing_groups(
    path: Path, content: bytes | None, after: bytes | None
) -> list[tuple[str, int]]:
    """The groups that go away with our hooks: event and place."""
    count, left = _group_counts(path, content), _group_counts(path, after)
    ours = dict.fromkeys((one.event, one.group) for one in file.places(path, content))
    return [
        (_snake(event), group) for event, group in ours if left.get(event, 0) < count.get(event, 0)
    ]


def _group_counts(path: Path, content: bytes | None) -> dict[str, int]:
    text = SettingsText.decode(path, content).text
    hooks: Any = json.loads(text).get("hooks", {}) if text.strip() else {}
    return {event: len(groups) for event, groups in hooks.items()}


class _Places(Record, frozen=True):
    """The places of hooks in one hooks.json, which config.toml names, while ours go away."""

    prefix: str
    gone: Sequence[tuple[str, int]]

    def without_ours(self, text: str) -> str:
        kept: list[str] = []
        ours = False
        for line in config_file.LINE.findall(text):
            header = _TRUST.match(line)
            if line.startswith("["):
                ours = header is not None and self._is_ours(line, header["key"])
                if ours and kept and not kept[-1].strip():
                    kept.pop()  # the empty line before it
            if not ours and header is not None:
                kept.append(line.replace(header["key"], self._moved(header["key"]), 1))
            elif not ours or not line.strip() or line.startswith("#"):
                # What is said behind our lines is said about the next ones.
                kept.append(line)
        return "".join(kept)

    def _is_ours(self, line: str, key: str) -> bool:
        return line.rstrip().endswith(_MARK) and _unquoted(key).startswith(self.prefix)

    def _moved(self, quoted: str) -> str:
        """The place of a hook of the user, which moves up when a group before it goes away."""
        key = _unquoted(quoted)
        event, _, place = key.removeprefix(self.prefix).partition(":")
        group, _, index = place.partition(":")
        if not key.startswith(self.prefix) or not group.isdecimal():
            return quoted
        before = sum(event == other and number < int(group) for other, number in self.gone)
        moved = f"{self.prefix}{event}:{int(group) - before}:{index}"
        return json.dumps(moved, ensure_ascii=False) if before else quoted


def _unquoted(key: str) -> str:
    return str(tomllib.loads(f"key = {key}")["key"])
