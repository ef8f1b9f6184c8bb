"""Install Codex hooks: hooks.json, their trust in config.toml, and `notify`; or for one run.

Codex runs a hook only if config.toml has its hash under the hook's location. Only Codex can
compute that hash, so its app-server is asked, in a temporary folder. Codex also edits config.toml
but keeps comments, so prong's lines are marked with one.

Hooks for one run are settings on the command line:

    -c 'hooks.Stop=[{hooks=[{type="command",command="...",timeout=10}]}]'
    -c 'hooks.state={"/<session-flags>/config.toml:stop:0:0"={trusted_hash="sha256:..."}}'

Measured: Codex runs them in addition to hooks in files. Their hashes are cached for as long as the
program and the hooks stay the same.
"""

import json
import os
import re
import shlex
import shutil
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from prong.agents import argv
from prong.agents.argv import Command
from prong.agents.base import AgentHooks, HookedFiles, HookScope
from prong.agents.codex.app_server import AppServer
from prong.agents.codex.launch import GRAMMAR, PROGRAM, server_argv
from prong.agents.codex.settings import config_file
from prong.agents.common import as_dict, as_list
from prong.agents.settings import file
from prong.agents.settings.file import NOTIFY, SettingsText
from prong.agents.shell import Word
from prong.errors import ConfigError, External, ProngError, Unavailable
from prong.files.atomic import write_private
from prong.files.edits import read
from prong.files.regular import read_regular
from prong.model.forks import Launch
from prong.model.record import replace

EVENTS = ("SessionStart", "UserPromptSubmit", "PermissionRequest", "Stop", "SessionEnd")
_TIMEOUTS = {"SessionEnd": 3}
"""Codex allows no more, and would warn at every start."""
_MARK = "# prong"
_TRUST = re.compile(r'\[hooks\.state\.(?P<key>"(?:[^"\\]|\\.)*")\]')
_OURS = re.compile(rf"^\[hooks\.state\..*\] {_MARK}\r?$", re.MULTILINE)
_NOTIFY = re.compile(rf"^notify *=.*{_MARK}\r?\n", re.MULTILINE)
_COMMAND_LINE = "/<session-flags>/config.toml"
"""Codex's name for the location of settings on the command line."""
_QUIET = (
    "analytics.enabled=false",
    "check_for_update_on_startup=false",
    "features.plugins=false",
    "features.remote_plugin=false",
    "features.apps=false",
)
"""Settings for a server that is only asked about hooks."""


class CodexHooks(AgentHooks):
    """The hooks of Codex in a configuration root."""

    agent = "codex"

    def __init__(self, root: Path, program: Command) -> None:
        self._root = root
        self._program = program

    def files(self, scope: HookScope, folder: Path) -> Sequence[Path]:
        # Codex identifies a hook by the real path of its folder.
        base = self._root if scope == "user" else Path(os.path.realpath(folder)) / ".codex"
        return (base / "hooks.json", self._root / "config.toml")

    def added(self, contents: Mapping[Path, bytes | None], command: Sequence[str]) -> HookedFiles:
        (hooks, old), (config, settings) = contents.items()
        table = config_file.table(config, settings)
        new = self._with_hooks(hooks, old, [*command, self.agent], EVENTS)
        decoded = SettingsText.decode(config, settings)
        text, end = decoded.text, config_file.line_end(decoded.text)
        notes: list[str] = []
        expected = dict(table)
        if not self._is_for_all_folders(hooks) or _is_ours(table.get(NOTIFY)):
            pass  # `notify` applies to all folders, so a project must not set it
        elif NOTIFY in table:
            notes.append(f"{config} has a notify of yours, which stays; the hooks do without it")
        else:
            expected[NOTIFY] = [*command, self.agent, NOTIFY]
            text = f"notify = {_toml(expected[NOTIFY])} {_MARK}{end}{text}"
        if text and not text.endswith("\n"):
            text += end
        hooks_table = table.get("hooks", {})
        states = dict(hooks_table.get("state", {}))
        expected["hooks"] = {**hooks_table, "state": states}
        for location, hash_ in self._hashes(new).items():
            key = f"{_real(hooks)}:{location}"
            states[key] = {"trusted_hash": hash_}
            text += f'{end}[hooks.state.{_toml(key)}] {_MARK}{end}trusted_hash = "{hash_}"{end}'
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
        config_file.table(config, settings)  # raises if it is not TOML
        places = file.places(hooks, old)
        ours = Counter((place.event, place.group) for place in places)
        sizes = {(place.event, place.group): len(place.path[0][0].children) for place in places}
        gone = [(_snake(e), group) for (e, group), n in ours.items() if n == sizes[e, group]]
        text = "".join(_without_ours(decoded.text, f"{_real(hooks)}:", gone))
        if self._is_for_all_folders(hooks) or not _OURS.search(text):
            text = _NOTIFY.sub("", text, count=1)
        return {hooks: new, config: decoded.encode(text)}

    def found(self, contents: Mapping[Path, bytes | None]) -> Mapping[str, str]:
        (hooks, old), (config, settings) = contents.items()
        table = config_file.table(config, settings)
        states = as_dict(as_dict(table.get("hooks")).get("state"))
        result: dict[str, str] = {}
        for place in file.places(hooks, old):
            result[place.event] = place.command
            state = states.get(f"{_real(hooks)}:{_snake(place.event)}:{place.group}:0")
            result[f"trust of {place.event}"] = str(as_dict(state).get("trusted_hash", "none"))
        notify: Any = table.get(NOTIFY)
        if self._is_for_all_folders(hooks) and _is_ours(notify):
            result[NOTIFY] = shlex.join(cast(list[str], notify))
        return result

    def for_one_run(self, launch: Launch, command: Sequence[str], folder: Path) -> Launch:
        """Pass hooks, their trust and a `notify` on the command line.

        A `notify` of the user is kept; prong's does not run then.
        """
        root = Path(launch.env.get("CODEX_HOME") or self._root)
        config = root / "config.toml"
        user_notify: Any = config_file.table(config, read(config)).get(NOTIFY)
        own_notify = f"{NOTIFY}={_toml([*command, self.agent, NOTIFY])}"
        installed = CodexHooks(root, self._program).installed(launch.cwd)
        events = [event for event in EVENTS if event not in installed]
        settings = list(self._on_command_line([*command, self.agent], events, folder))

        def change(words: Sequence[Word]) -> Sequence[Word]:
            configs = [arg for arg in GRAMMAR.arguments(words) if arg.flag in ("-c", "--config")]
            has_notify = any(arg.value.partition("=")[0].strip() == NOTIFY for arg in configs)
            has_notify = has_notify or (user_notify is not None and not _is_ours(user_notify))
            added = [*settings, *([] if has_notify else [own_notify])]
            return [*(Word.of(word) for arg in added for word in ("-c", arg)), *words]

        return replace(launch, argv=argv.rebuilt(launch.argv, PROGRAM, change))

    def installed(self, folder: Path) -> set[str]:
        """Return the events with a trusted hook of prong in a folder."""
        events: set[str] = set()
        for scope in ("user", "project"):
            hooks = self.found({path: read(path) for path in self.files(scope, folder)})
            events |= {e for e in EVENTS if hooks.get(f"trust of {e}", "none") != "none"}
        return events

    def _is_for_all_folders(self, hooks: Path) -> bool:
        return _real(hooks).parent == Path(os.path.realpath(self._root))

    def _with_hooks(
        self, path: Path, content: bytes | None, words: Sequence[str], events: Sequence[str]
    ) -> bytes:
        commands = dict.fromkeys(events, shlex.join(words))
        return file.with_hooks(path, content, commands, _TIMEOUTS)

    def _on_command_line(
        self, words: Sequence[str], events: Sequence[str], folder: Path
    ) -> Iterator[str]:
        """Yield the settings; none if Codex does not support such hooks."""
        if not events:
            return
        content = self._with_hooks(Path("hooks.json"), None, words, events)
        trusted = self._cached_hashes(content, folder)
        if not trusted:
            return
        line = _toml(shlex.join(words))
        for event in events:
            seconds = _TIMEOUTS.get(event, file.TIMEOUT)
            hook = f'{{type="command",command={line},timeout={seconds}}}'
            yield f"hooks.{event}=[{{hooks=[{hook}]}}]"
        states = (
            f"{_toml(f'{_COMMAND_LINE}:{place}')}={{trusted_hash={_toml(hash_)}}}"
            for place, hash_ in trusted.items()
        )
        yield f"hooks.state={{{','.join(states)}}}"

    def _cached_hashes(self, content: bytes, folder: Path) -> dict[str, str]:
        """Return the hashes from a file whose name depends on all that they depend on."""
        program = server_argv(self._program)
        version = ""
        with suppress(OSError):
            real = os.path.realpath(shutil.which(program[0]) or program[0])
            stat = Path(real).stat()
            version = f"{real}:{stat.st_size}:{stat.st_mtime_ns}"
        key = sha256(f"{list(program)}:{version}:".encode() + content).hexdigest()[:12]
        path = folder / f"codex-{key}.json"
        with suppress(OSError, ValueError):
            cached: Any = json.loads(read_regular(path))
            if isinstance(cached, dict):
                return cast(dict[str, str], cached)
        try:
            computed = self._hashes(content)
        except ProngError:
            return {}  # too old or missing: starting it will report that
        write_private(path, json.dumps(computed).encode())
        return computed

    def _hashes(self, content: bytes) -> dict[str, str]:
        """Map the location of each hook of ours in this hooks.json to Codex's hash of it."""
        program = server_argv(self._program)
        if shutil.which(program[0]) is None:
            hint = "npm install -g @openai/codex"
            raise Unavailable(f"{program[0]} is not installed", hint=hint)
        with tempfile.TemporaryDirectory(prefix="prong-") as folder:
            root = Path(os.path.realpath(folder))
            path = root / "hooks.json"
            path.write_bytes(content)
            quiet = [word for setting in _QUIET for word in ("-c", setting)]
            with AppServer([*program, *quiet], root) as server:
                answer = server.call("hooks/list", cwds=[str(root)])
        folders = map(as_dict, as_list(answer.get("data")))
        hashes: dict[str, str] = {}
        for hook in (hook for folder in folders for hook in folder.get("hooks", [])):
            key, hash_, line = (str(hook.get(name)) for name in ("key", "currentHash", "command"))
            if file.is_ours(line) and key.startswith(f"{path}:"):
                hashes[key.removeprefix(f"{path}:")] = hash_
        if len(hashes) != len(file.places(path, content)):
            raise External(
                "codex does not understand the hooks that prong would write",
                hint="update it: npm install -g @openai/codex",
                answer=answer,
            )
        return hashes


editor = CodexHooks


def _toml(value: str | list[str]) -> str:
    """Format for TOML, in which JSON strings and lists are valid."""
    return json.dumps(value, ensure_ascii=False)


def _real(path: Path) -> Path:
    """Return Codex's path of a hooks.json, in which only the folder is resolved."""
    return Path(os.path.realpath(path.parent)) / path.name


def _snake(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def _is_ours(words: Any) -> bool:
    texts = as_list(words)
    return all(isinstance(word, str) for word in texts) and file.is_call(texts)


def _without_ours(text: str, prefix: str, gone: Sequence[tuple[str, int]]) -> list[str]:
    """Return the lines of config.toml without the trust in our hooks of one hooks.json.

    The keys of that file's hooks begin with `prefix`; `gone` are its groups that are removed.
    """
    lines: list[str] = []
    ours = False
    for line in config_file.LINE.findall(text):
        header = _TRUST.match(line)
        key = str(tomllib.loads(f"key = {header['key']}")["key"]) if header else ""
        if line.startswith("["):
            ours = line.rstrip().endswith(_MARK) and key.startswith(prefix)
            if ours and lines and not lines[-1].strip():
                lines.pop()  # the blank line before it
        if not ours and header is not None:
            place = key.removeprefix(prefix)
            moved = _moved(place, gone) if key.startswith(prefix) else place
            location = header["key"] if moved == place else _toml(prefix + moved)
            lines.append(line.replace(header["key"], location, 1))
        elif not ours or not line.strip() or line.startswith("#"):
            # A comment after our lines belongs to the lines that follow.
            lines.append(line)
    return lines


def _moved(place: str, gone: Sequence[tuple[str, int]]) -> str:
    """Return a user hook's new place: it moves up when a group before it is removed."""
    event, _, rest = place.partition(":")
    group, colon, index = rest.partition(":")
    if not group.isdecimal():
        return place
    removed = sum(event == other and number < int(group) for other, number in gone)
    return f"{event}:{int(group) - removed}{colon}{index}" if removed else place
