"""Add, remove and list prong's hooks in a settings file of Claude Code or Codex.

    {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "...", "timeout": 10}]}]}}

Our entries are separate groups at the end of each event's list, so that the user's groups keep
their positions. They are recognized by their command: a call of prong-hook and nothing else.
"""

import codecs
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from prong.agents.common import as_dict, as_list
from prong.agents.settings import json_text
from prong.errors import ConfigError
from prong.model.record import Record

NOTIFY = "notify"
"""Last word of a call from Codex's `notify` setting, which is not a hook."""
_PROGRAM = "prong-hook"
_MODULE = "prong.hook"
_AGENT = re.compile(r"[a-z][a-z0-9_-]*")

TIMEOUT = 10
"""Seconds after which the agent cancels a hook; ours gives up much earlier."""


def is_ours(command: str) -> bool:
    """Return whether an installation of prong wrote this command, with no changes by the user."""
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return shlex.join(words) == command and is_call(words)


def is_call(words: list[str]) -> bool:
    """Match `prong-hook AGENT` and `python -P -m prong.hook AGENT`, with or without `notify`."""
    if words[-1:] == [NOTIFY]:
        words = words[:-1]
    program, agent = words[:-1], "".join(words[-1:])
    if not program or not _AGENT.fullmatch(agent):
        return False
    if program[-1] == _MODULE:
        return program[1:-1] in (["-P", "-m"], ["-m"])
    return len(program) == 1 and program[0].rpartition("/")[2] == _PROGRAM


class SettingsText(Record, frozen=True):
    """The text of a settings file, and whether it has a byte order mark."""

    text: str
    bom: bool

    @classmethod
    def decode(cls, path: Path, content: bytes | None) -> "SettingsText":
        bom = bool(content) and (content or b"").startswith(codecs.BOM_UTF8)
        try:
            return cls((content or b"")[3 if bom else 0 :].decode("utf-8"), bom)
        except UnicodeDecodeError:
            raise ConfigError(f"{path} is not UTF-8: prong leaves it unchanged") from None

    def encode(self, text: str) -> bytes:
        return (codecs.BOM_UTF8 if self.bom else b"") + text.encode("utf-8")


class HookPlace(Record, frozen=True):
    """Position of one of our hooks."""

    event: str
    group: int
    command: str
    path: tuple[tuple[json_text.Value, json_text.JsonMember], ...]
    """The elements around it, each with its parent, from the hook itself up."""


def with_hooks(
    path: Path,
    content: bytes | None,
    commands: Mapping[str, str],
    timeouts: Mapping[str, int] | None = None,
) -> bytes:
    """Add a hook for each event to a file that has none of ours."""
    decoded = SettingsText.decode(path, content)
    text = decoded.text if decoded.text.strip() else "{}\n"
    _check(path, text)
    if json_text.parse(text).get("hooks") is None:
        text = json_text.appended(text, json_text.parse(text), {}, "hooks")
    for event, command in commands.items():
        timeout = (timeouts or {}).get(event, TIMEOUT)
        group = {"hooks": [{"type": "command", "command": command, "timeout": timeout}]}
        hooks = json_text.parse(text).get("hooks")
        assert hooks is not None
        groups = hooks.get(event)
        if groups is None:
            text = json_text.appended(text, hooks, [group], event)
        else:
            text = json_text.appended(text, groups, group)
    return decoded.encode(text)


def without_hooks(path: Path, content: bytes | None) -> bytes | None:
    """Remove our hooks, and lists that become empty."""
    if content is None:
        return None
    decoded = SettingsText.decode(path, content)
    text = decoded.text
    if not _names_us(text):
        return content
    _check(path, text)
    while place := next(_ours(text), None):
        # Remove the largest element that contains nothing else.
        filled = (pair for pair in place.path if len(pair[0].children) > 1)
        text = json_text.removed(text, *next(filled, place.path[-1]))
    return decoded.encode(text)


def switch(content: bytes | None, key: str) -> bool | None:
    """Return a boolean setting; None when it is missing or unreadable."""
    try:
        data: Any = json.loads((content or b"").decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    value = as_dict(data).get(key)
    return value if isinstance(value, bool) else None


def places(path: Path, content: bytes | None) -> list[HookPlace]:
    """List our hooks."""
    text = SettingsText.decode(path, content).text
    if not _names_us(text):
        return []
    _check(path, text)
    return list(_ours(text))


def _names_us(text: str) -> bool:
    """Return False if nothing of ours is in the file, so that it need not even be valid."""
    return _PROGRAM in text or _MODULE in text


def _ours(text: str) -> Iterator[HookPlace]:
    root = json_text.parse(text)
    for member in [child for child in root.children if child.key == "hooks"][-1:]:
        hooks = member.value
        for event in hooks.children:
            for number, group in enumerate(event.value.children):
                entries = group.value.get("hooks") or json_text.Value(0)
                for hook in entries.children:
                    command = as_dict(hook.value.plain(text)).get("command")
                    if isinstance(command, str) and is_ours(command):
                        around = ((event.value, group), (hooks, event), (root, member))
                        path = ((entries, hook), *around)
                        yield HookPlace(event.key or "", number, command, path)


def _check(path: Path, text: str) -> None:
    """Raise `ConfigError` for a file that cannot be edited safely."""
    try:
        data: Any = json.loads(text)
        json_text.parse(text)
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply: prong leaves it unchanged") from None
    except ValueError as error:
        raise ConfigError(
            f"{path} {_what_is_wrong(text, error)}: prong leaves it unchanged",
            hint="make it plain JSON, then try again",
            path=str(path),
        ) from None
    problem = _wrong_shape(data)
    if problem:
        raise ConfigError(f"{path}: {problem}; prong leaves it unchanged", path=str(path))


def _what_is_wrong(text: str, error: ValueError) -> str:
    without_strings = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)
    if re.search(r"//|/\*", without_strings):
        return "has comments, which JSON does not know"
    if re.search(r",\s*[}\]]", without_strings):
        return "has a comma before a closing bracket, which JSON does not know"
    return f"is not JSON ({error})"


def _wrong_shape(data: Any) -> str | None:
    if not isinstance(data, dict):
        return "it must be an object"
    hooks = as_dict(data).get("hooks", {})
    if not isinstance(hooks, dict):
        return '"hooks" must be an object'
    for event, groups in as_dict(hooks).items():
        if not isinstance(groups, list):
            return f'"hooks.{event}" must be a list'
        if not all(isinstance(as_dict(group).get("hooks"), list) for group in as_list(groups)):
            return f'"hooks.{event}" must be a list of objects that have "hooks"'
    return None
