"""Rewriting of messages for agents: commands and options become tools and arguments.

An agent does not know `prong turns` or `--into`; it has list_turns and project_path. What no tool
does, such as repairing an installation, is left to the user, and the hint says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast

from prong.redaction.visible import in_texts

BY_USER = "the user types:"

_Rewrite = Callable[[re.Match[str], str], str]
"""Function from a match and the called tool to its replacement."""
_PRONG = r"(?<!['\"`\w-])prong "
_PROSE = (
    "a|alone|and|captures|continues|for|goes|keeps|lists|or|resumes|runs|shows|starts|to|uses|waits|"
    "when|writes"
)
"""Words that continue the sentence after a command; anything else belongs to the command."""
_NAME = rf"(?: (?!(?:{_PROSE})\b)([\w@~%/'][\w@:./~%+'-]*))?"
_VALUE = r"(?!out\b)(?:[A-Z]+(?:=[A-Z]+)?\b|(?:turn|now|head|none)\b|[\w@.~/-]*[:@/\d][\w@:./~-]*)"
_BY_HAND = "attach|diff|doctor|export|hooks|index|key|mcp|restart|schedule|serve|snapshot|worktrees"
"""Commands without a tool."""
_WORDS = rf"(?: (?!(?:{_PROSE})\b)[\w@~%./'-][\w@:./~%+'-]*)*"

_ARGUMENTS = {
    "into": "project_path",
    "project": "project_path",
    "fork": "fork_from",
    "resume": "resume_session_id",
    "continue": "continue_session",
    "no-worktree": 'code: "none"',
}
_ARGUMENTS_OF: Mapping[str, Mapping[str, str]] = {
    "smart_fork": {
        "into": "fork_session with project_path",
        "branch": "fork_session with branch",
    },
    "spawn_workers": {
        "code": "fork_session with code",
        "code none": "use_worktree: false",
        "no-worktree": "use_worktree: false",
        "branch": "worktree.branch",
        "base": "worktree.base",
        "agent": "agent_type",
    },
    "clone_worker": {"name": "new_name"},
}
"""Arguments whose name differs from the option."""
_FIELDS = frozenset({"hint", "warning", "warnings", "notes", "next_steps"})
"""Fields with prong's own messages, as opposed to quoted text."""


def for_agent(text: str, tool: str) -> str:
    """Rewrite a message or hint for the agent that called a tool."""

    def rewritten(found: re.Match[str]) -> str:
        pattern, rewrite = _RULES[int(cast(str, found.lastgroup)[1:])]
        match = re.fullmatch(pattern, found[0])
        assert match is not None
        return rewrite(match, tool) if callable(rewrite) else rewrite

    return _any_rule().sub(rewritten, text).strip()


def in_answer(value: Any, tool: str) -> Any:
    """Rewrite all of prong's own messages in a result."""
    if isinstance(value, list):
        return [in_answer(item, tool) for item in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    fields = cast(dict[str, Any], value)
    # A worker's problem also has a message.
    messages = _FIELDS | ({"message"} if "code" in fields else frozenset[str]())
    return {
        name: in_texts(item, lambda text: for_agent(text, tool))
        if name in messages
        else in_answer(item, tool)
        for name, item in fields.items()
    }


def _call(tool: str, argument: str, form: str = "{}") -> _Rewrite:
    """Build a rewrite to a tool call, such as `list_turns with session: claude:60309e1e`."""

    def rewrite(found: re.Match[str], _: str) -> str:
        argument_value = found[1]
        words = [f"{argument}: {form.format(argument_value)}"] if argument_value else []
        words += ["project_path: DIR"] if "--into" in found[0] else []
        words += ["force: true"] if "--force" in found[0] else []
        words += ["prompt: TEXT"] if "--prompt" in found[0] else []
        return f"{tool} with {', '.join(words)}" if words else tool

    return rewrite


def _kept(found: re.Match[str], _: str) -> str:
    return found[0]


def _by_user(found: re.Match[str], _: str) -> str:
    return f"{BY_USER} {found[0]}"


def _argument(found: re.Match[str], tool: str) -> str:
    leave, option, value, out = found.groups()
    names = {**_ARGUMENTS, **_ARGUMENTS_OF.get(tool, {})}
    name = names.get(option, option.replace("-", "_"))
    if leave and out:
        return f"leave {name.partition(':')[0]} out"
    if f"{option} {value}" in names:
        return names[f"{option} {value}"]
    if option == "code" and value:
        value = f'"{value}"'
    return f"{leave or ''}{name}{f': {value}' if value else ''}{out or ''}"


_RULES: tuple[tuple[str, str | _Rewrite], ...] = (
    (rf"{BY_USER} prong [^,;]*", _kept),
    # Quoted input.
    (r"(?<!\w)'[^'\n]*'(?!\w)", _kept),
    # Commands of other programs, for the user to run.
    (r"\b(?:git|npm|qmd|pip|claude|codex|wezterm) (?:(?!prong )[^,;:])*", _kept),
    (rf"{_PRONG}(?:stop --forget{_NAME}|run \.\.\. -- [^,]*, or -- -c KEY=VALUE)", _by_user),
    # Commands with an equivalent tool.
    (rf"{_PRONG}turns\b{_NAME}(?: --all)?", _call("list_turns", "session")),
    (rf"{_PRONG}(?:show|log(?: -f)?)\b{_NAME}", _call("read_session", "session")),
    (rf"{_PRONG}fork\b{_NAME}(?: --into DIR)?", _call("fork_session", "session")),
    (rf"{_PRONG}clone\b{_NAME}", _call("clone_worker", "name")),
    (rf"{_PRONG}status\b{_NAME}", _call("worker_status", "name")),
    (rf"{_PRONG}wait\b{_NAME}", _call("wait_workers", "names", "[{}]")),
    (rf'{_PRONG}send\b{_NAME}(?: "\.\.\.")?', _call("send_to_worker", "name")),
    (rf"{_PRONG}stop\b(?: --force)?{_NAME}", _call("stop_worker", "name")),
    (rf"{_PRONG}ps\b(?: --all)?", "list_workers"),
    (
        rf"{_PRONG}(?:run --)?resume\b{_NAME}(?: --prompt TEXT)?",
        _call("spawn_workers", "resume_session_id"),
    ),
    (rf'{_PRONG}run --headless "\.\.\."', "prompt, or leave headless out"),
    (rf"{_PRONG}run\b(?: PROMPT -- FLAGS)?", "spawn_workers"),
    (rf"{_PRONG}list --project{_NAME}", _call("find_sessions", "project_path")),
    (rf"{_PRONG}list --agent{_NAME}(?: --all)?", _call("find_sessions", "agent")),
    (rf"{_PRONG}list\b(?: --all)?", "find_sessions"),
    (rf'{_PRONG}find\b(?: ("[^"]*"))?', _call("find_sessions", "intent")),
    (rf"{_PRONG}doctor\b(?! --fix)", "prong_doctor"),
    (rf"(?:[A-Z_]+=\w+ )?{_PRONG}(?:{_BY_HAND})\b{_WORDS}", _by_user),
    # Options without an argument, or not needed in tools.
    (r", or choose (?:another )?--terminal(?: tmux)?", ""),
    (r", --terminal exec \(in this window\) or --terminal print", ""),
    (r"; --before-compaction gives it their words", ""),
    (r"--wait(?: waits until (?:it|the agent) is done)?", "call again when it is done"),
    (
        r"--trim keeps the first prompt and the newest turns; --method copy needs no seed",
        "fork an earlier turn, or into the same agent",
    ),
    (r"(?:leave )?--method out", "fork into the same agent"),
    (r"(?:, or |; )?(?:use |with )?--method \w+(?: [a-z ]+)?", ""),
    (rf"(?:(?<!\w)(leave ))?(?<![\w'\"-])--([a-z][a-z-]*)(?: ({_VALUE}))?( out\b)?", _argument),
)


@cache
def _any_rule() -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<r{i}>{pattern})" for i, (pattern, _) in enumerate(_RULES)))
