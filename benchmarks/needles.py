"""Puts words that occur nowhere else into a copy of a store, and tells where each must be found.

The copy is made of hard links: only the files that get a word are written anew.
"""

import json
import os
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from benchmarks.store import MANIFEST

Kind = Literal["prompt", "answer", "output", "copied prompt"]
KINDS: Sequence[Kind] = ("prompt", "answer", "output")
_LEAST_TEXT = 20
"""Shorter texts may stand in a session more than once."""
_SYLLABLES = ("bra", "cly", "dro", "fex", "gri", "hux", "jov", "kwi", "lum", "nyx", "pra", "quo")


@dataclass(frozen=True)
class Needle:
    """A word, and the sessions that have it: one, or a session and its forks."""

    word: str
    kind: Kind
    sessions: tuple[str, ...]


def plant(store: Path, copy: Path, each: int = 12) -> list[Needle]:
    """Copy the store; put so many words into prompts, answers, tool output and forked prompts.

    There are fewer where a small store has not enough sessions for them.
    """
    shutil.copytree(store, copy, copy_function=_link)
    manifest: dict[str, Any] = json.loads((store / MANIFEST).read_bytes())
    words = _words(random.Random(7))
    needles: list[Needle] = []
    alone = _alone(manifest, copy)
    for kind in KINDS:
        planted = 0
        while planted < each and alone:
            session = alone.pop()
            word = next(words)
            if _put(session.path, kind, word, at_end=planted % 2 == 0):
                needles.append(Needle(word, kind, (session.id,)))
                planted += 1
    copied: list[Needle] = []
    for family in _families(manifest, copy):
        word = next(words)
        first = _text(family[0].path, "prompt", longest=False)
        changed = [s.id for s in family if first and _replace(s.path, first, f"{first} {word}")]
        if len(changed) > 1 and len(copied) < each:
            copied.append(Needle(word, "copied prompt", tuple(changed)))
    return needles + copied


@dataclass(frozen=True)
class _Session:
    id: str
    path: Path


def _sessions(manifest: Mapping[str, Any], copy: Path) -> Iterator[tuple[Mapping[str, Any], Path]]:
    for session in manifest["sessions"]:
        path = Path(session["path"]).relative_to(manifest["root"])
        if path.suffix == ".jsonl" and not session["headless"] and not session["archived"]:
            yield session, copy / path


def _alone(manifest: Mapping[str, Any], copy: Path) -> list[_Session]:
    """Sessions of middling size that no other one copied or points to, in no order."""
    parents = {session["parent"] for session in manifest["sessions"]}
    found = [
        _Session(session["id"], path)
        for session, path in _sessions(manifest, copy)
        if session["id"] not in parents
        and not session["parent"]
        and not session["abandoned"]
        and path.stat().st_size < 1_000_000
    ]
    random.Random(3).shuffle(found)
    return found


def _families(manifest: Mapping[str, Any], copy: Path) -> list[list[_Session]]:
    """Sessions of Claude's, each with the forks that copied it."""
    by_root: dict[str, list[_Session]] = {}
    roots: dict[str, str] = {}
    for session, path in _sessions(manifest, copy):
        if session["agent"] == "claude":
            # A fork stands behind its parent in the manifest.
            id_: str = session["id"]
            root = roots.get(session["parent"] or "", id_)
            roots[id_] = root
            by_root.setdefault(root, []).append(_Session(id_, path))
    return [family for family in by_root.values() if len(family) > 1]


def _put(path: Path, kind: Kind, word: str, *, at_end: bool) -> bool:
    text = _text(path, kind)
    if text is None:
        return False
    return _replace(path, text, f"{text} {word}" if at_end else f"{word} {text}")


def _text(path: Path, kind: Kind, *, longest: bool = True) -> str | None:
    """A text of this kind that the session has, the longest or the first one."""
    texts = [
        text
        for line in path.read_bytes().splitlines()
        for found, text in _texts(json.loads(line))
        if found == kind and len(text) >= _LEAST_TEXT
    ]
    if not texts:
        return None
    return max(texts, key=len) if longest else texts[0]


def _texts(record: Mapping[str, Any]) -> Iterator[tuple[Kind, str]]:
    """What a line of either agent says."""
    item: Mapping[str, Any] = record.get("message") or record.get("payload") or record
    kind = record.get("type")
    if kind in ("event_msg", "turn_context", "compacted"):
        return
    if record.get("isMeta") or record.get("isCompactSummary"):
        return
    content: Any = item.get("content")
    role = item.get("role")
    if item.get("type") == "function_call_output" and isinstance(item.get("output"), str):
        yield "output", item["output"]
    elif isinstance(content, str) and role == "user" and not content.startswith("<"):
        yield "prompt", content
    blocks = cast(list[Mapping[str, Any]], content if isinstance(content, list) else [])
    for block in blocks:
        text: str = block.get("text") or ""
        if block.get("type") == "tool_result" and isinstance(block["content"], str):
            yield "output", block["content"]
        elif role == "assistant" and text:
            yield "answer", text
        elif role == "user" and kind == "response_item" and not text.startswith("<"):
            yield "prompt", text


def _replace(path: Path, text: str, by: str) -> bool:
    """Put a text in the place of another, wherever the session has it as a whole."""
    before = path.read_bytes()
    after = before.replace(msgspec.json.encode(text), msgspec.json.encode(by))
    stat = path.stat()
    new = path.with_suffix(".new")
    new.write_bytes(after)
    os.utime(new, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    new.replace(path)
    return after != before


def _words(rng: random.Random) -> Iterator[str]:
    seen: set[str] = set()
    while True:
        word = "".join(rng.choices(_SYLLABLES, k=4))
        if word not in seen:
            seen.add(word)
            yield word


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk
        shutil.copy2(source, target)
