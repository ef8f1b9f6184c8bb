"""Summarize a tool call by its main argument: the command, the file, the pattern."""

import json
import re
import shlex
from typing import Any, cast

from prong.agents.common import as_list

_TELLING = ("command", "cmd", "file_path", "notebook_path", "path", "pattern", "query", "url")
"""The most informative arguments, best first."""
_SHELL = re.compile(r"^(?:.*/)?(?:ba|z|da|)sh$")


def gist(given: Any) -> str:
    """Summarize the arguments of a call: an object, or anything else that the agent wrote."""
    if not isinstance(given, dict):
        return as_words(given)
    fields = cast(dict[str, Any], given)
    telling = next((fields[key] for key in _TELLING if fields.get(key)), fields)
    return as_words(telling) if telling else ""


def as_words(value: Any) -> str:
    """Join a list of words to a command line; convert anything else to text."""
    if isinstance(value, str):
        return value
    words = as_list(value)
    if not words or not all(isinstance(word, str) for word in words):
        return json.dumps(value, ensure_ascii=False)
    # Show what a person would type: only the script of `bash -lc SCRIPT`.
    if len(words) == 3 and _SHELL.match(words[0]) and words[1].startswith("-"):
        return words[2]
    return shlex.join(words)
