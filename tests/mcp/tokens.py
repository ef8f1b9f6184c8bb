"""How many tokens an agent pays for a text: one fixed estimate, on the safe side.

The larger of two: UTF-8 bytes divided by 4, and word pieces. A word of letters is a piece for each
eight of them, digits are a piece for each three, punctuation in a row is a piece for each three,
and each other character is one. JSON and ids have short pieces and are counted by them, prose by
the bytes. Ids with digits and letters in turns count almost a piece for each character.
"""

import json
import re
from typing import Any

_PIECES = re.compile(r"[A-Za-z]{1,8}|[0-9]{1,3}|[!-/:-@\[-`{-~]{1,3}|[^\x00-\x7f]")


def tokens(value: Any) -> int:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return max(len(text.encode()) // 4, len(_PIECES.findall(text)))
