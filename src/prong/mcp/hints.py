"""Hints for agents: tools and arguments, where the layers below name commands and options.

These speak of what a person types. An agent knows no `prong turns` and no `--into`; it has
list_turns and project_path. What no tool does, such as repairing an installation, is left to the
user, and the hint says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast

BY_USER = "the user types:"

_Rewrite = Callable[[re.Match[str], str], str]
"""What a match becomes for the agent that called this tool."""
_PRONG = r"(?<!['\"`\w-])prong "
_PROSE = (
    "a|alone|and|captures|continues|for|goes|keeps|lists|or|resumes|runs|shows|starts|to|uses|waits|"
    "when|writes"
)
"""How a sentence goes on behind a command; anything else there belongs to the command."""
_NAME = rf"(?: (?!(?:{_PROSE})\b)([\w@~%/'][\w@:./~%+'-]*))?"
_VALUE = r"(?!out\b)(?:[A-Z]+(?:=[A-Z]+)?\b|(?:turn|now|head|none)\b|[\w@.~/-]*[:@/\d][\w@:./~-]*)"
_BY_HAND = "attach|diff|doctor|export|hooks|index|key|mcp|restart|schedule|serve|snapshot|worktrees"
"""Commands that are no tools."""
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
"""The argument that an option is, where it has another name."""
_FIELDS = frozenset({"hint", "warning", "warnings", "notes", "next_steps"})
"""What prong itself says in an answer, beside what it quotes."""


def for_agent(text: str, tool: str) -> str:
    """A message or a hint for the agent that called this tool."""

    def rewritten(found: re.Match[str]) -> str:
        pattern, rewrite = _RULES[int(cast(str, found.lastgroup)[1:])]
        again = re.fullmatch(pattern, found[0])
        assert again is not None
        return rewrite(again, tool) if callable(rewrite) else rewrite

    return _any_rule().sub(rewritten, text).strip()


def in_answer(value: Any, tool: str) -> Any:
    """An answer in which everything that prong says is said for agents."""
    if isinstance(value, list):
        return [in_answer(one, tool) for one in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    fields = cast(dict[str, Any], value)
    # The problem of one worker of several has a message as well.
    said = _FIELDS | ({"message"} if "code" in fields else frozenset[str]())
    return {
        name: _said(one, tool) if name in said else in_answer(one, tool)
        for name, one in fields.items()
    }


def _said(value: Any, tool: str) -> Any:
    if isinstance(value, str):
        return for_agent(value, tool)
    if isinstance(value, list):
        return [_said(one, tool) for one in cast(list[Any], value)]
    return value


def _call(tool: str, argument: str, form: str = "{}") -> _Rewrite:
    """`list_turns with session: claude:60309e1e`."""

    def rewrite(found: re.Match[str], _: str) -> str:
        which = found[1]
        words = [f"{argument}: {form.format(which)}"] if which else []
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
    # What was asked for, as a message quotes it.
    (r"(?<!\w)'[^'\n]*'(?!\w)", _kept),
    # Commands of other programs, which a person installs and sets up.
    (r"\b(?:git|npm|qmd|pip|claude|codex|wezterm) (?:(?!prong )[^,;:])*", _kept),
    (rf"{_PRONG}(?:stop --forget{_NAME}|run \.\.\. -- [^,]*, or -- -c KEY=VALUE)", _by_user),
    # What an agent does by calling.
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
    # What no tool has, or does without being asked.
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
    return re.compile("|".join(f"(?P<r{at}>{one})" for at, (one, _) in enumerate(_RULES)))
