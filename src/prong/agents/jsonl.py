r"""Fault-tolerant reader of JSON Lines files.

Rules, each with a test: split on the byte `\n` only; a record with a field of the wrong type keeps
its other fields; two objects on one line are two records; unreadable text is skipped and reported
with its offset; an unterminated last line is not an error. A file may grow, shrink or be replaced
while it is read: the reader keeps to the file it opened and to its size at that time.

No file can exhaust memory: only regular files are opened, and lines and unpacked archives have
limits well above any real session.
"""

import codecs
import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from types import UnionType
from typing import Any, BinaryIO, Generic, TypeVar, cast

import msgspec

from prong.agents.last_turn import lines_backwards
from prong.errors import Corrupt, NotFound
from prong.files.regular import open_regular
from prong.model.record import Record, field

T = TypeVar("T", bound=msgspec.Struct)
V = TypeVar("V")

_BLANK = b" \t\r\n"
_BUFFER = 1 << 16
LONGEST_LINE = 128 << 20
"""Bytes. The longest line seen, with images in it, has some tens of millions."""
LARGEST_UNPACKED = 512 << 20
"""Bytes, held in memory."""
TAIL = 1 << 16
"""Bytes. Usually contains the last message."""
LARGE_TAIL = 1 << 21
"""Bytes, to try when it does not."""
_LONG = 1 << 20
_UNSUSPECTED = 64 << 20
_PACKS_TO = 1000
"""Maximum compression ratio above `_UNSUSPECTED` bytes: sessions reach 10, repetitive ones 100."""


class Bad(Record, frozen=True):
    """A part of a file that is not a record."""

    offset: int
    reason: str


class Location(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Byte range of a record in its file."""

    offset: int
    length: int


def open_file(path: Path) -> BinaryIO:
    """Open a session file for reading, unpacking `.zst` files."""
    if path.suffix != ".zst":
        return open_regular(path, _BUFFER)
    import zstandard

    unpack = zstandard.ZstdDecompressor().stream_reader
    # Archives that were appended to or packed in parallel have several frames.
    with open_regular(path) as packed, unpack(packed, read_across_frames=True) as reader:
        plain = io.BytesIO()
        most = min(LARGEST_UNPACKED, max(_UNSUSPECTED, size_of(packed) * _PACKS_TO))
        try:
            while block := reader.read(_BUFFER):
                if plain.tell() + len(block) > most:
                    raise OSError(f"unpacks to more than {most >> 20} MiB")
                plain.write(block)
        except zstandard.ZstdError as error:
            # A truncated archive: keep what was unpacked before the error.
            if not plain.tell():
                raise OSError(f"cannot unpack: {error}") from error
    plain.seek(0)
    return plain


def open_named(path: Path) -> BinaryIO:
    """Open a session that a user named; explain why if it cannot be read."""
    try:
        return open_file(path)
    except FileNotFoundError:
        raise NotFound(f"{path} is gone", hint="prong list", path=str(path)) from None
    except OSError as error:
        raise Corrupt(f"cannot read {path}: {error.strerror or error}", path=str(path)) from None


def size_of(file: BinaryIO) -> int:
    """Return the current size; readers stop there even if the file grows."""
    position = file.tell()
    end = file.seek(0, io.SEEK_END)
    file.seek(position)
    return end


def last_lines(path: Path, size: int = TAIL) -> Iterator[bytes]:
    """Yield the last lines of a file in reverse order; none when it cannot be read."""
    with suppress(OSError), open_file(path) as file:
        for line, _ in lines_backwards(file, limit=size):
            yield line


@cache
def _decoder(type_: type[Any]) -> msgspec.json.Decoder[Any]:
    """Cache decoders: creating one takes longer than decoding a line."""
    return msgspec.json.Decoder(type_)


class Reader(Record, Generic[T], dict=True):
    """A single-pass reader of records of one type, in file order."""

    type: type[T]
    bad: list[Bad] = field(default_factory=list[Bad])
    end: int = 0
    """The offset after the last complete record or line."""
    is_aside: bool = False
    """True while the current record does not start its line or is not strict JSON."""

    def __post_init__(self) -> None:
        self._decode: Callable[[bytes], T] = _decoder(self.type).decode

    def records(
        self, file: BinaryIO, *, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[int, bytes, T]]:
        """Yield `(offset, bytes, record)` for every record between two offsets."""
        decode = self._decode
        stop = size_of(file) if stop is None else stop
        offset = start
        file.seek(start)
        for full_line in iter(partial(file.readline, LONGEST_LINE + 1), b""):
            if len(full_line) > LONGEST_LINE and offset < stop:
                self.bad.append(Bad(offset, f"a line longer than {LONGEST_LINE >> 20} MiB"))
                offset = self._behind_line(file, offset, stop)
                continue
            # The file may have grown since: keep to the size it had then.
            line = full_line if offset + len(full_line) <= stop else full_line[: stop - offset]
            end = offset + len(line)
            if not line:
                break
            if len(line) > _LONG:
                _make_sure_of(len(line))
            try:
                yield offset, line, decode(line)
                self.end = end
            except (ValueError, RecursionError):
                yield from self._recover(offset, line)
            offset = end
            if offset >= stop:
                break

    def _behind_line(self, file: BinaryIO, offset: int, stop: int) -> int:
        """Skip the rest of a line and return the offset of the next one."""
        file.seek(offset)
        while file.tell() < stop:
            block = file.readline(_BUFFER)
            if block.endswith(b"\n") or not block:
                self.end = file.tell()
                break
        return file.tell()

    def _recover(self, offset: int, line: bytes) -> Iterator[tuple[int, bytes, T]]:
        pieces, rest = split_objects(line)
        for start, end, value in pieces:
            begins = not line[:start].removeprefix(codecs.BOM_UTF8 if offset == 0 else b"").strip()
            self.is_aside = not begins or not _is_strict(line[start:end])
            yield offset + start, line[start:end], salvage(self.type, value)
            self.is_aside = False
        if not pieces and rest is None and line.strip(_BLANK):
            rest = 0
        end = len(line)
        if rest is not None:
            unfinished = not line.endswith(b"\n")
            reason = "unfinished last line" if unfinished else "not a JSON object"
            self.bad.append(Bad(offset + rest, reason))
            if unfinished:
                # The next read must start at the half-written object, to see all of it.
                end = max(rest, pieces[-1][1]) if pieces else rest
        self.end = offset + end


_raw_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode

# Not strict: accept control characters inside strings.
_json = json.JSONDecoder(strict=False, parse_constant=lambda _: None)


def split_objects(line: bytes) -> tuple[list[tuple[int, int, dict[str, Any]]], int | None]:
    """Return the JSON objects of a line as `(start, end, value)`, and the offset of garbage."""
    # Do not lose the line to one invalid byte: it may be a link in the chain of the conversation.
    text = line.decode("utf-8", "surrogateescape")
    pieces: list[tuple[int, int, dict[str, Any]]] = []
    garbage: int | None = None
    at = 0
    while True:
        brace = text.find("{", at)
        between = text[at:] if brace < 0 else text[at:brace]
        if between.strip(" \t\r\n,\ufeff") and garbage is None:
            garbage = at
        if brace < 0:
            break
        try:
            value, after = _json.raw_decode(text, brace)
        except (ValueError, RecursionError):
            garbage = brace if garbage is None else garbage
            break
        pieces.append((brace, after, cast(dict[str, Any], value)))
        at = after

    def to_byte(position: int) -> int:
        return len(text[:position].encode("utf-8", "surrogateescape"))

    located = [(to_byte(start), to_byte(end), value) for start, end, value in pieces]
    return located, None if garbage is None else to_byte(garbage)


def _is_strict(data: bytes) -> bool:
    """Return whether the agents themselves accept this JSON; invalid bytes in text are fine."""
    try:
        json.loads(data.decode("utf-8", "replace"), parse_constant=int)  # int rejects NaN
    except (ValueError, RecursionError) as error:
        return isinstance(error, RecursionError)
    return True


def salvage(type_: type[T], value: dict[str, Any]) -> T:
    """Build a record from an object, leaving out fields of the wrong type."""
    kept: dict[str, Any] = {}
    for info in msgspec.structs.fields(type_):
        if info.encode_name not in value:
            continue
        fitted, good = _fit(info.type, value[info.encode_name])
        if good:
            kept[info.name] = fitted
    return type_(**kept)


def _fit(wanted: Any, value: Any) -> tuple[Any, bool]:
    if isinstance(value, str):
        value = _clean(value)
    if wanted is msgspec.Raw:
        return msgspec.Raw(plain_json(value)), True
    # A union is a choice of types; a list or a dict has arguments too, but is one type.
    options: tuple[Any, ...] = wanted.__args__ if isinstance(wanted, UnionType) else (wanted,)
    for option in options:
        origin = getattr(option, "__origin__", None)
        if isinstance(value, dict) and _is_struct(option):
            try:
                return salvage(option, cast(dict[str, Any], value)), True
            except TypeError:
                # A required field is missing.
                return None, False
        if isinstance(value, dict) and origin is dict:
            inner = option.__args__[1]
            entries = cast(dict[str, Any], value).items()
            kept = {_clean(key): _fit(inner, element) for key, element in entries}
            return {key: fitted_value for key, (fitted_value, good) in kept.items() if good}, True
        if isinstance(value, list) and origin is list:
            (inner,) = option.__args__
            fitted = [_fit(inner, element) for element in cast(list[Any], value)]
            return [fitted_value for fitted_value, good in fitted if good], True
    try:
        return msgspec.convert(value, wanted), True
    except (msgspec.ValidationError, TypeError, RecursionError):
        return None, False


def _make_sure_of(size: int) -> None:
    """Raise `MemoryError` when there is too little memory to decode so many bytes.

    The decoder would crash the process instead. The pages are never written, so this is cheap.
    """
    bytes(3 * size)


def _is_struct(option: Any) -> bool:
    return isinstance(option, type) and issubclass(option, msgspec.Struct)


_SURROGATES = "[\ud800-\udfff]"


def _clean(text: str) -> str:
    """Make text encodable: lone surrogates and escaped bytes become U+FFFD."""
    return re.sub(_SURROGATES, "\ufffd", text)


def plain_json(value: Any) -> bytes:
    """Encode as JSON that msgspec accepts; null when nested too deeply."""
    try:
        clean = _clean(json.dumps(value, ensure_ascii=False)).encode()
        msgspec.json.decode(clean)
    except (ValueError, RecursionError):
        return b"null"
    return clean


def decoded(decode: Callable[[bytes], V], raw: msgspec.Raw | bytes) -> V | None:
    """Decode a raw field of a record; None when it has an unexpected type."""
    if (size := memoryview(raw).nbytes) > _LONG:
        _make_sure_of(size)
    try:
        return decode(raw)
    except UnicodeDecodeError:
        # Damaged text is better than none.
        return decoded(decode, _clean(bytes(raw).decode("utf-8", "surrogateescape")).encode())
    except (ValueError, RecursionError):
        return None


def raw_fields(data: msgspec.Raw | bytes) -> dict[str, msgspec.Raw]:
    """Decode an object but not its values, as far as it is undamaged; empty for anything else."""
    try:
        return _raw_fields(data)
    except (ValueError, RecursionError):
        pieces, _ = split_objects(bytes(data))
        fields = pieces[0][2] if pieces else {}
        return {_clean(key): msgspec.Raw(plain_json(value)) for key, value in fields.items()}


def read_at(file: BinaryIO, place: Location) -> dict[str, Any] | None:
    """Read the object at a known location; None when the file has changed."""
    if place.length > _LONG:
        _make_sure_of(2 * place.length)
    file.seek(place.offset)
    data = file.read(place.length)
    try:
        value = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        pieces, _ = split_objects(data)
        value = msgspec.json.decode(plain_json(pieces[0][2])) if pieces else None
    return cast(dict[str, Any], value) if isinstance(value, dict) else None
