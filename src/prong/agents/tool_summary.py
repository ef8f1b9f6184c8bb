"""What a tool call is about, in few words: the command, the file, the pattern."""

import json
import re
import shlex
from typing import Any, cast

_TELLING = ("command", "cmd", "file_path", "notebook_path", "path", "pattern", "query", "url")
"""The arguments that say most about a call, the best first."""
_SHELL = re.compile(r"^(?:.*/)?(?:ba|z|da|)sh$")


def gist(given: Any) -> str:
    """From the arguments of a call, which are an object, or whatever the agent wrote."""
    if not isinstance(given, dict):
        return as_words(given)
    fields = cast(dict[str, Any], given)
    for key in _TELLING:
        if fields.get(key):
            return as_words(fields[key])
    return as_words(fields) if fields else ""


def as_words(value: Any) -> str:
    """A command line from a list of words; anything else as text."""
    if isinstance(value, str):
        return value
    words = cast(list[Any], value) if isinstance(value, list) else []
    if not words or not all(isinstance(word, str) for word in words):
        return json.dumps(value, ensure_ascii=False)
    # What a person would have typed: only the script of a `bash -lc SCRIPT`.
    if len(words) == 3 and _SHELL.match(words[0]) and words[1].startswith("-"):
        return words[2]
    return shlex.join(words)
