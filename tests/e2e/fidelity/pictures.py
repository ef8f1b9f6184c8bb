"""Two small pictures that differ in nothing but their content."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

SIDE = 8


@dataclass(frozen=True)
class Picture:
    """A PNG of one colour."""

    name: str
    colour: bytes

    @property
    def png(self) -> bytes:
        head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
        rows = zlib.compress((b"\0" + self.colour * SIDE) * SIDE)
        chunks = _chunk(b"IHDR", head) + _chunk(b"IDAT", rows) + _chunk(b"IEND", b"")
        return b"\x89PNG\r\n\x1a\n" + chunks

    @property
    def base64(self) -> str:
        return base64.b64encode(self.png).decode()

    def save(self, folder: Path) -> Path:
        """Write it into a folder."""
        path = folder / f"{self.name}.png"
        path.write_bytes(self.png)
        return path


def _chunk(kind: bytes, data: bytes) -> bytes:
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


RED = Picture("red", b"\xff\0\0")
BLUE = Picture("blue", b"\0\0\xff")
