"""What can happen to a file: cut anywhere, lines lost, doubled or moved, bytes put in."""

import os
from collections.abc import Callable
from random import Random

from hypothesis import settings
from hypothesis import strategies as st

Damage = Callable[[bytes], bytes]

_EXAMPLES = os.environ.get("PRONG_EXAMPLES")


def examples(count: int) -> settings:
    """The same examples in every run, unless PRONG_EXAMPLES asks for a number of new ones."""
    number = int(_EXAMPLES) if _EXAMPLES else count
    return settings(
        deadline=None, max_examples=number, derandomize=_EXAMPLES is None, database=None
    )


def cut(where: float) -> Damage:
    return lambda data: data[: round(where * len(data))]


def without_lines(seed: int, share: float) -> Damage:
    def damaged(data: bytes) -> bytes:
        random = Random(seed)
        return b"".join(line for line in data.splitlines(keepends=True) if random.random() > share)

    return damaged


def doubled_lines(seed: int, share: float) -> Damage:
    def damaged(data: bytes) -> bytes:
        random = Random(seed)
        lines = data.splitlines(keepends=True)
        for line in [line for line in lines if random.random() < share]:
            lines.insert(random.randint(0, len(lines)), line)
        return b"".join(lines)

    return damaged


def shuffled_lines(seed: int) -> Damage:
    def damaged(data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        Random(seed).shuffle(lines)
        return b"".join(lines)

    return damaged


def swapped_lines(seed: int) -> Damage:
    def damaged(data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        if lines:
            random = Random(seed)
            one, other = random.randrange(len(lines)), random.randrange(len(lines))
            lines[one], lines[other] = lines[other], lines[one]
        return b"".join(lines)

    return damaged


def with_bytes(where: float, inserted: bytes, *, replacing: int = 0) -> Damage:
    def damaged(data: bytes) -> bytes:
        at = round(where * len(data))
        return data[:at] + inserted + data[at + replacing :]

    return damaged


_places = st.floats(0, 1)
_seeds = st.integers(0, 2**32)
_shares = st.sampled_from([0.05, 0.3, 0.8])
_pieces = st.one_of(
    st.binary(max_size=12),
    st.sampled_from(
        [
            b"\n",
            b"{",
            b"}",
            b'"',
            b"\\",
            b"\x00" * 64,
            b"\xff",
            b"\\ud800",
            b"null",
            b",",
            b"[" * 3000,
        ]
    ),
)

cuts = st.builds(cut, _places)
line_damages = st.one_of(
    st.builds(without_lines, _seeds, _shares),
    st.builds(doubled_lines, _seeds, _shares),
    st.builds(shuffled_lines, _seeds),
    st.builds(swapped_lines, _seeds),
)
byte_damages = st.one_of(
    cuts,
    st.builds(with_bytes, _places, _pieces),
    st.builds(with_bytes, _places, _pieces, replacing=st.integers(0, 200)),
)
damages = st.lists(st.one_of(line_damages, byte_damages), min_size=1, max_size=4)


def apply(damages: list[Damage], data: bytes) -> bytes:
    for damage in damages:
        data = damage(data)
    return data
