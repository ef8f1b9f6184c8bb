"""Names of workers: short, easy to type, never mistaken for a session."""

import re
from collections.abc import Collection

from prong.errors import Taken, UsageError

LONGEST = 32
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")
_HEX = re.compile(r"[0-9a-f-]+")
"""May be a prefix of a session id."""
_RESERVED = frozenset({"last", "all", "here"})


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_FIRST = _words("""
    able bold brave brisk calm clear clever cosy crisp eager early fair fine fleet fond free fresh
    gentle glad good grand happy hardy jolly keen kind lively loyal lucky merry mild neat nimble
    noble plain proud quick quiet rapid ready regal sharp shy silver sleek smart snug soft sound
    spry steady sunny swift tidy warm wise witty young zesty
""")
_SECOND = _words("""
    alder ant aspen badger birch bison cedar cobra condor coral crane cricket dove eagle elm falcon
    fern finch fox gecko gull hare hawk heron ibis iris ivy jackal jay kiwi koala lark lemur linden
    lion lizard llama lotus lynx maple marten mole moose moss newt olive orca otter owl panda
    pike pine plover puffin quail rabbit raven robin salmon seal sparrow spruce swan tapir thrush
    tiger toucan trout tulip turtle vole walrus willow wolf wren yak zebra
""")


def checked(name: str, agents: Collection[str]) -> str:
    hint = "use lowercase letters, digits and dashes, such as calm-otter"
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a valid worker name", hint=hint)
    if _HEX.fullmatch(name):
        raise UsageError(f"{name} looks like a session id", hint=hint)
    if name in _RESERVED or name in agents:
        raise UsageError(f"{name} is a reserved name", hint=hint)
    return name


def free(name: str, agents: Collection[str], taken: Collection[str]) -> str:
    if checked(name, agents) in taken:
        hint = "choose another name; prong ps --all lists those in use"
        raise Taken(f"a worker named {name} already exists", hint=hint)
    return name


def made_up(taken: Collection[str]) -> str:
    """Generate a name that no other worker has."""
    import random

    rng = random.SystemRandom()
    while True:
        name = f"{rng.choice(_FIRST)}-{rng.choice(_SECOND)}"
        if name not in taken:
            return name
        numbered = f"{name}-{rng.randrange(2, 1000)}"
        if numbered not in taken:
            return numbered


def after(name: str, taken: Collection[str]) -> str:
    """Return the next free name in a series: `calm-otter-2`."""
    stem = re.sub(r"-\d+$", "", name)[: LONGEST - 5].rstrip("-")
    stem = f"{stem}-x" if _HEX.fullmatch(stem) else stem
    candidates = (f"{stem}-{number}" for number in range(2, len(taken) + 3))
    return next(candidate for candidate in candidates if candidate not in taken)
