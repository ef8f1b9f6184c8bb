"""Rewording of warnings and hints for the fork dialog, which has fields instead of options."""

import re

_FIELDS = {
    "--before-compaction": "history <all words>",
    "--method copy": "how <copy>",
    "--method seed": "how <seed: as a prompt>",
    "leave --method out": "another way under how",
    "--code turn": "code <as of the turn>",
    "--code now": "code <as it is now>",
    "--code none": "code <untouched>",
    "--no-worktree": "code <untouched>",
    "--into DIR": "another folder",
    "leave --into out": "the folder left as it was",
}
_OPTIONS = re.compile("|".join(map(re.escape, sorted(_FIELDS, key=len, reverse=True))))


def in_the_form(text: str) -> str:
    """Replace options by form fields. Commands and options without a field stay."""
    if text.startswith("prong "):
        return text
    return _OPTIONS.sub(lambda found: _FIELDS[found[0]], text)
