"""Reads a seed prompt back, as a model would have to, to prove that nothing in it is lost."""

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from itertools import zip_longest
from typing import cast, get_args

from prong.model.forks import SeedHeader
from prong.model.record import Record, replace
from prong.model.sessions import Role, Tool
from prong.transcripts.blocks import NONCE_LENGTH, Block, BlockRole

_OPENING = re.compile(rf"^<transcript-([0-9a-f]{{{NONCE_LENGTH}}})>$", re.MULTILINE)
_ATTRIBUTE = re.compile(r'([a-z]+)=("(?:[^"\\]|\\.)*"|\S+)')
_ROLES = frozenset((*get_args(Role), "system", "error", "note"))


class ReadSeed(Record, frozen=True):
    """A seed that was read back."""

    header: SeedHeader
    blocks: tuple[Block, ...]
    intact: bool
    """The transcript is the one that the header speaks of."""


def parse(text: str) -> ReadSeed | None:
    """Read a seed. None when the text is no seed; a damaged one is read as far as it goes."""
    header = SeedHeader.parse(text)
    opening = _OPENING.search(text) if header else None
    if header is None or opening is None:
        return None
    nonce = opening[1]
    start = opening.end() + 1
    end = text.find(f"\n</transcript-{nonce}>", opening.end())
    transcript = text[start : max(end, start)] if end >= 0 else text[start:]
    intact = sha256(transcript.encode(errors="surrogatepass")).hexdigest() == header.digest
    return ReadSeed(header, tuple(_blocks(transcript, nonce)), intact)


def _blocks(transcript: str, nonce: str) -> Iterator[Block]:
    tags = list(re.finditer(rf"\[{nonce} ([^\n]*)\](?=\n|\Z)", transcript))
    block: Block | None = None
    for tag, following in zip_longest(tags, tags[1:]):
        if following is None:
            end = len(transcript)
        else:
            # A blank line stands before each block, none inside of one.
            end = following.start() - (2 if following[1].startswith("role=") else 1)
        content = transcript[tag.end() + 1 : end]
        tool = block.tool if block else None
        if block and tool and tag[1] == "arguments":
            block = replace(block, tool=replace(tool, input=content))
        elif block and tool and tag[1] == "output":
            block = replace(block, tool=replace(tool, output=content))
        else:
            if block:
                yield block
            block = _block(tag[1], content)
    if block:
        yield block


def _block(tag: str, content: str) -> Block:
    attributes = {key: _value(value) for key, value in _ATTRIBUTE.findall(tag)}
    role = attributes.get("role")
    turn = _number(attributes.get("turn"))
    if role != "tool":
        return Block(cast(BlockRole, role if role in _ROLES else "note"), content, turn)
    failed = "failed" in attributes
    code = _number(attributes.get("exit"))
    return Block("tool", "", turn, Tool("", attributes.get("name", ""), "", None, failed, code))


def _value(written: str) -> str:
    try:
        return str(json.loads(written)) if written.startswith('"') else written
    except ValueError:
        return written


def _number(written: str | None) -> int | None:
    return int(written) if written and re.fullmatch(r"-?\d{1,18}", written) else None
