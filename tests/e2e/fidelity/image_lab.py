"""Prompts with images, given to the real programs, and the images in what they sent."""

from __future__ import annotations

import base64
import json
import struct
import subprocess
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prong.testing.wait import PATIENCE
from tests.drivers.claude_cli import ClaudeCli
from tests.drivers.codex_cli import CodexCli
from tests.drivers.requests import records


def png(red: int, green: int, blue: int) -> bytes:
    """A small picture of one colour."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    rows = (b"\0" + bytes((red, green, blue)) * 8) * 8
    head = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    end = chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + end


def encoded(image: bytes) -> str:
    return base64.b64encode(image).decode()


def ask_claude(cli: ClaudeCli, prompt: str, image: bytes, cwd: Path) -> str:
    """One turn of a new session, with an image behind the prompt; the id of the session."""
    source = {"type": "base64", "media_type": "image/png", "data": encoded(image)}
    content = [{"type": "text", "text": prompt}, {"type": "image", "source": source}]
    line = {"type": "user", "message": {"role": "user", "content": content}}
    argv = [str(cli.program), "-p", "--verbose", "--dangerously-skip-permissions"]
    argv += ["--input-format", "stream-json", "--output-format", "stream-json"]
    printed = _run(argv, cwd, cli.env(), json.dumps(line) + "\n")
    return str(json.loads(printed.strip().split("\n")[-1])["session_id"])


def ask_codex(cli: CodexCli, prompt: str, image: Path, cwd: Path) -> str:
    """One turn of a new thread, with an image before the prompt; the id of the thread."""
    cli.trust(cwd)
    argv = [str(cli.program), "exec", "-C", str(cwd), "--json", "-i", str(image), "--", prompt]
    printed = _run(argv, cwd, cli.env(), "")
    return str(json.loads(printed.split("\n")[0])["thread_id"])


def _run(argv: list[str], cwd: Path, env: dict[str, str], given: str) -> str:
    return subprocess.run(
        argv, cwd=cwd, env=env, input=given, capture_output=True, text=True, timeout=PATIENCE,
        check=True,
    ).stdout  # fmt: skip


def sent_to_openai(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The role and the text, or the image, of each part of the messages."""
    return [
        (str(entry.get("role")), str(part.get("image_url") or part.get("text")))
        for entry in records(body.get("input"))
        if entry.get("role") in ("user", "assistant")
        for part in records(entry.get("content"))
        if "<environment_context>" not in str(part.get("text"))
    ]


def sent_to_anthropic(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The same, without what Claude Code adds by itself."""
    found: list[tuple[str, str]] = []
    for message in records(body.get("messages")):
        content: Any = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in records(blocks):
            source: dict[str, Any] = block.get("source") or {}
            data = f"data:{source['media_type']};base64,{source['data']}" if source else ""
            text = data or str(block.get("text"))
            if not text.startswith("<system-reminder>\n"):
                found.append((str(message.get("role")), text.rstrip("\n")))
    return [one for one in found if one[0] != "system"]
