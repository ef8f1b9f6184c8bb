"""Trim a transcript: keep the first prompt and the newest turns, and note what was omitted."""

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence

from prong.errors import UsageError
from prong.model.record import Record, replace
from prong.model.sessions import Tool
from prong.transcripts.blocks import Block

_LEAST = 200
"""Minimum length in characters of a shortened tool text."""
_BETWEEN = 2
"""Number of characters between two blocks."""
_OPENING_ROLES = frozenset(("user", "summary", "system"))
_JOINER = "\u200d"
_MODIFIERS = frozenset("\u200d\ufe0e\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
_STEPS = 32
"""Maximum distance by which a cut moves to keep a combined character whole; less than half of a
shortened text."""


class _Turn(Record, frozen=True):
    number: int | None
    blocks: list[Block]

    @property
    def name(self) -> str:
        return "the only turn" if self.number is None else f"turn {self.number}"


def size(blocks: Sequence[Block]) -> int:
    """Return the number of characters that the blocks take when written."""
    return sum(block.size for block in blocks) + _BETWEEN * max(len(blocks) - 1, 0)


def trim(blocks: list[Block], limit: int) -> tuple[list[Block], str]:
    """Keep as much as fits into `limit` characters, omitting whole turns.

    If even the newest turn does not fit, its long tool texts are cut in the middle. Returns the
    remaining blocks, and a description of what was omitted. Raises `UsageError` if that is not
    enough.
    """
    if size(blocks) <= limit:
        return blocks, ""
    turns = _turns(blocks)
    if not turns:
        raise _impossible()
    head, remainder = _opening(turns[0])
    later = [remainder, *turns[1:]]
    start = len(later)
    used = size(head) + _BETWEEN
    for position in range(len(later) - 1, 0, -1):
        used += size(later[position].blocks) + _BETWEEN
        if used + _note(_names(later, position)).size > limit:
            break
        start = position
    if start < len(later):
        left_out = _names(later, start)
        newest = [block for turn in later[start:] for block in turn.blocks]
    else:
        last = later[-1]
        left_out = _names(later, len(later) - 1)
        left_out = [*left_out, f"the middle of long tool texts in {last.name}"]
        room = limit - size(head) - _note(left_out).size - 2 * _BETWEEN
        newest = _shortened(last.blocks, room)
    return [*head, _note(left_out), *newest], ", ".join(left_out)


def _turns(blocks: list[Block]) -> list[_Turn]:
    """Group blocks into turns; blocks before the first number belong to the first turn."""
    turns: list[_Turn] = []
    for block in blocks:
        last = turns[-1] if turns else None
        if last is None or block.turn not in (None, last.number):
            if last is not None and last.number is None:
                turns[-1] = _Turn(block.turn, [*last.blocks, block])
                continue
            last = _Turn(block.turn, [])
            turns.append(last)
        last.blocks.append(block)
    return turns


def _opening(turn: _Turn) -> tuple[list[Block], _Turn]:
    """Split a turn into its first prompt, with a summary before it, and the rest."""
    roles = [block.role for block in turn.blocks]
    end = roles.index("user") + 1 if "user" in roles else len(roles)
    indexes = {index for index in range(end) if roles[index] in _OPENING_ROLES}
    rest = [block for index, block in enumerate(turn.blocks) if index not in indexes]
    return [turn.blocks[index] for index in sorted(indexes)], _Turn(turn.number, rest)


def _names(turns: list[_Turn], count: int) -> list[str]:
    """Describe the first `count` turns; the prompt of the very first one is kept."""
    names: list[str] = []
    if count and turns[0].blocks:
        names.append(f"all of {turns[0].name} but its prompt")
    if count > 1:
        first, last, total = turns[1].number, turns[count - 1].number, turns[-1].number
        names.append(
            f"turn {first} of {total}" if first == last else f"turns {first}-{last} of {total}"
        )
    return names


def _note(left_out: list[str]) -> Block:
    return Block("note", f"Left out here, to make the transcript fit: {', '.join(left_out)}.")


def _shortened(blocks: list[Block], room: int) -> list[Block]:
    """Cut all tool texts to the greatest length at which the blocks fit."""
    tools = [block.tool for block in blocks if block.tool]
    lengths = [len(text) for tool in tools for text in (tool.input, tool.output or "")]
    excess = size(blocks) - room

    def saved(cap: int) -> int:
        return sum(length - cap for length in lengths if length > cap)

    caps = range(_LEAST, max(lengths, default=_LEAST) + 1)
    # The shorter the texts, the more is saved.
    enough = bisect_right(caps, -excess, key=lambda cap: -saved(cap))
    if not enough:
        raise _impossible()
    return [replace(block, tool=_cut_tool(block.tool, caps[enough - 1])) for block in blocks]


def _cut_tool(tool: Tool | None, length: int) -> Tool | None:
    if tool is None:
        return None
    output = None if tool.output is None else _cut(tool.output, length)
    return replace(tool, input=_cut(tool.input, length), output=output)


def _cut(text: str, length: int) -> str:
    """Keep the start and the end of a text, at most `length` characters including the remark."""
    if len(text) <= length:
        return text
    half = (length - len(_remark(len(text)))) // 2
    end, start = half, len(text) - half
    for _ in range(_STEPS):
        end -= _is_inside(text, end)
        start += _is_inside(text, start)
    return text[:end] + _remark(start - end) + text[start:]


def _remark(characters: int) -> str:
    return f"\n[... {characters:,} characters left out ...]\n"


def _is_inside(text: str, place: int) -> bool:
    """Check whether a cut here would separate a letter from its accent, or split an emoji."""
    following = text[place]
    joined = following in _MODIFIERS or text[place - 1] == _JOINER
    return joined or unicodedata.combining(following) != 0


def _impossible() -> UsageError:
    return UsageError(
        "not even the first prompt and the newest turn fit into the window",
        hint="fork at an earlier turn, or with --method copy",
    )
