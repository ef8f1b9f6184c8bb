"""Removal of invisible characters from session text, before secrets are masked.

`visible` cleans; `safe` cleans and then masks, in this order, because a zero-width character inside
a key would hide the key. Removed are:

- terminal escape sequences and control characters (C0 except line ends and tabs, C1);
- characters that change text direction: marks, embeddings, overrides, isolates;
- zero-width and useless characters: zero-width spaces, word joiners, soft hyphens, fillers, Unicode
  tags (the flags of England, Scotland and Wales become black flags), interlinear marks;
- variation selectors, except one that selects the text or emoji form of an emoji.

Joiners stay in emoji and where a script needs them: between letters of Arabic, Persian, Indian and
related scripts, or between two pictures. Runs of joiners, and joiners in Latin text, are removed.
Lone surrogates become U+FFFD, other line ends a newline.
"""

import re
from collections.abc import Callable
from typing import Any, cast

from prong.redaction.secrets import mask

ESCAPES = "\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\\\)|[ -/]*[0-~])"
BREAKS = "\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"
"""Everything that some reader takes for a line end."""
_UNSEEN = (
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_HALVES = "[\ud800-\udfff]+"
_DEPENDENT = "[\u200c\u200d\ufe0e\ufe0f]+"
"""Characters that stay only where a neighbour needs them."""
_JOINED = (
    "\u0600-\u06ff\u0750-\u077f\u0840-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\u1a20-\u1aaf"
    "\u1b00-\u1c4f\ua840-\ua87f\ua8e0-\ua9ff\uaa60-\uaadf\uabc0-\uabff\ufb50-\ufdff\ufe70-\ufefe"
    "\U00010a00-\U00010aff\U00011000-\U00011fff\U0001e900-\U0001e95f"
)
"""Scripts with joining letters or vowels."""
_PICTURES = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_SUSPECT = f"[{_UNSEEN[1:-1]}{_DEPENDENT[1:-2]}\ud800-\udfff\r\x0b\x0c\u2028\u2029]"


def visible(text: str) -> str:
    """Remove invisible characters."""
    # Most texts contain none, and for many of them a quick check shows it.
    if (text.isascii() and text.isprintable()) or not re.search(_SUSPECT, text):
        return text
    if "\x1b" in text:
        text = re.sub(ESCAPES, "", text)
    text = re.sub(_UNSEEN, "", re.sub(BREAKS, "\n", text))
    text = re.sub(_HALVES, _characters, text)
    return re.sub(_DEPENDENT, _needed, text)


def safe(text: str) -> str:
    """Remove invisible characters, then mask secrets."""
    return mask(visible(text))


def safe_value(value: Any) -> Any:
    """Apply `safe` to all texts of a JSON value, including field names."""
    return in_texts(value, safe)


def in_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Change all texts of a JSON value, including field names."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        fields = cast(dict[Any, Any], value)
        return {in_texts(name, change): in_texts(item, change) for name, item in fields.items()}
    if isinstance(value, list | tuple):
        return [in_texts(item, change) for item in cast(list[Any], value)]
    return value


def _characters(found: re.Match[str]) -> str:
    """Combine surrogate pairs into characters; replace lone ones."""
    text = found[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return re.sub(_UNSEEN, "", text)


def _needed(found: re.Match[str]) -> str:
    """Keep those of a run of joiners and selectors that the neighbours need."""
    text, run = found.string, found[0]
    before, after = text[: found.start()][-1:], text[found.end() :][:1]
    kept = ""
    if run[0] in "\ufe0e\ufe0f":
        digit = before in "0123456789#*" and after == "\u20e3"
        if before and (digit or re.match(f"[{_PICTURES}]", before)):
            kept, before = run[0], "\u2764"
        run = run[1:]
    if run == "\u200d" and re.match(f"[{_PICTURES}]", before):
        return kept + run if re.match(f"[{_PICTURES}]", after) else kept
    if len(run) == 1 and re.match(f"[{_JOINED}]", before):
        return run if run == "\u200d" or re.match(f"[{_JOINED}]", after) else ""
    return kept
