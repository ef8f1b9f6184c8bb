"""The sentence model: texts in, vectors out, such that texts of like meaning have near vectors.

It lies in the package (docs/adr/0011). Nothing is downloaded and nothing is sent.
"""

import json
import os
import time
import unicodedata
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from prong.errors import Corrupt, Unavailable
from prong.model.record import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_UNKNOWN = "[UNK]"
_BEGIN = "[CLS]"
_END = "[SEP]"
_LONGEST_WORD = 100  # characters; longer ones are not cut but unknown
_LEFT_OUT = frozenset(("Cc", "Cf", "Co", "Cs", "Mn"))  # controls, halves of pairs, accents
_ASCII_MARKS = frozenset("$+<=>^`|~")  # Unicode calls these symbols

# Ideographs are words by themselves. As BERT has it: without kana and hangul.
_IDEOGRAPHS = (
    range(0x3400, 0x4DC0),
    range(0x4E00, 0xA000),
    range(0xF900, 0xFB00),
    range(0x20000, 0x2A6E0),
    range(0x2A700, 0x2CEB0),
    range(0x2F800, 0x2FA20),
)


class Pieces:
    """Turns texts into numbers of pieces."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        """The vocabulary in the order of the numbers; a piece inside a word begins with `##`."""
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self._unknown = self._numbers[_UNKNOWN]
        self._begin = self._numbers[_BEGIN]
        self._end = self._numbers[_END]
        self._letters = _Letters()

    def numbers(self, text: str, most: int) -> list[int]:
        """The pieces of a text, as many as fit between the marks of its begin and its end."""
        words = unicodedata.normalize("NFD", text).translate(self._letters).split()
        pieces = (number for word in words for number in self._of_word(word))
        return [self._begin, *islice(pieces, most - 2), self._end]

    def _of_word(self, word: str) -> list[int]:
        if word in self._numbers:
            return [self._numbers[word]]
        if len(word) > _LONGEST_WORD:
            return [self._unknown]
        found: list[int] = []
        at = 0
        while at < len(word):
            begin = "##" if at else ""
            for end in range(len(word), at, -1):
                number = self._numbers.get(begin + word[at:end])
                if number is not None:
                    found.append(number)
                    at = end
                    break
            else:
                return [self._unknown]
        return found


class _Letters(dict[int, str]):
    """What becomes of each character, worked out when it first occurs."""

    def __missing__(self, code: int) -> str:
        self[code] = result = _letter(chr(code))
        return result


def _letter(character: str) -> str:
    category = unicodedata.category(character)
    if character.isspace() and (category[0] == "Z" or character in "\t\n\r"):
        return " "
    if category in _LEFT_OUT or character == "\N{REPLACEMENT CHARACTER}":
        return ""
    if category[0] == "P" or character in _ASCII_MARKS:
        return f" {character} "
    if any(ord(character) in some for some in _IDEOGRAPHS):
        return f" {character} "
    return character.lower()


MODEL_FOLDER = Path(__file__).parent / "model"
MODEL_ID = "all-MiniLM-L6-v2 7972f48a9e48"
"""Vectors of another id are of another space. The second word is from the model's SHA-256."""
DIMENSIONS = 384

_PIECES = 256
_LONGEST = 8 * 1024  # characters: more than 256 pieces of anything that is written in words
_IDLE_SECONDS = 600
_ONLY_FATAL = 4  # of the levels of its log
_IMPORTING = Lock()
_HINT = "Reinstall prong. Until then, search uses keywords only."


class _Loaded(Record, frozen=True):
    pieces: Pieces
    session: Any
    """An `onnxruntime.InferenceSession`; that package says nothing of its types."""

    def vector(self, text: str) -> "NDArray[np.float32]":
        import numpy as np

        numbers = self.pieces.numbers(text[:_LONGEST], _PIECES)
        ids = np.array([numbers], dtype=np.int64)
        try:
            (vectors,) = self.session.run(["vectors"], {"ids": ids})
        except Exception as error:  # what a session raises is not documented
            raise Corrupt(f"the sentence model does not work: {error}", hint=_HINT) from error
        return vectors[0]


class Embedder:
    """Computes vectors. The model is read at the first call and costs about 100 MB until unloaded.

    Safe to be used by several threads at once.
    """

    def __init__(self, *, threads: int = 1, folder: Path = MODEL_FOLDER) -> None:
        self._threads = threads
        self._folder = folder
        self._loaded: _Loaded | None = None
        self._loading = Lock()
        self._used = 0.0

    def embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """One row of length 1 for each text; the beginning of a long text stands for all of it.

        Raises `Unavailable` or `Corrupt` when there is no model that works.
        """
        loaded = self._load()
        import numpy as np

        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        try:
            for row, vector in enumerate(self._vectors(loaded, texts)):
                vectors[row] = vector
        finally:
            self._used = time.monotonic()
        return vectors

    @property
    def loaded(self) -> bool:
        return self._loaded is not None

    def unload(self) -> None:
        """Give the memory back. The next call reads the model again."""
        if self._loaded is not None:
            self._loaded = None
            _release_memory()

    def unload_if_idle(self, now: float | None = None) -> None:
        """Unload ten minutes after the last call. For what runs long, to be called now and then."""
        if (time.monotonic() if now is None else now) - self._used >= _IDLE_SECONDS:
            self.unload()

    def _vectors(self, loaded: _Loaded, texts: Sequence[str]) -> "Iterator[NDArray[np.float32]]":
        if self._threads == 1 or len(texts) < 2:
            yield from map(loaded.vector, texts)
            return
        # A text per thread is faster than threads inside the model, and than several texts at once.
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self._threads, thread_name_prefix="embedder") as pool:
            yield from pool.map(loaded.vector, texts)

    def _load(self) -> _Loaded:
        with self._loading:
            loaded = self._loaded
            if loaded is None:
                _check(self._folder)
                loaded = self._loaded = _read(self._folder)
                self._used = time.monotonic()
            return loaded


def _check(folder: Path) -> None:
    try:
        files: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())["files"]
        for name, facts in files.items():
            if (folder / name).stat().st_size != facts["size"]:
                raise Corrupt(f"the sentence model is damaged: {folder / name}", hint=_HINT)
    except OSError as error:
        raise Unavailable(f"the sentence model is missing: {error.filename}", hint=_HINT) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Corrupt(f"the sentence model is damaged: {folder}", hint=_HINT) from error


def _read(folder: Path) -> _Loaded:
    try:
        runtime = _runtime()
    except ImportError as error:
        raise Unavailable(f"the sentence model cannot be run: {error}", hint=_HINT) from error
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = _ONLY_FATAL
    try:
        pieces = Pieces((folder / "vocab.txt").read_text(encoding="utf-8").splitlines())
        model = folder / "model.onnx"
        session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # same
        raise Corrupt(f"the sentence model cannot be read: {error}", hint=_HINT) from error
    return _Loaded(pieces, session)


def _release_memory() -> None:
    """Give what was freed to the system: the C library of Linux would keep half of it."""
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _runtime() -> Any:
    """The module `onnxruntime`, which neither sends nor says anything."""
    # One at a time: who came second would keep what is silenced, and put that back.
    with _IMPORTING:
        return _imported()


@cache
def _imported() -> Any:
    # From 1.29 it tells its makers of every process that loads it, and keeps an id of the machine
    # in the user's folders, unless this is set before. Its own switch comes too late.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    with _silence():
        import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
    runtime: Any = onnxruntime
    runtime.disable_telemetry_events()
    runtime.set_default_logger_severity(_ONLY_FATAL)
    return runtime


@contextmanager
def _silence() -> Generator[None]:
    """Nothing goes to standard error meanwhile, whoever writes to it.

    While it is imported, onnxruntime warns of graphics cards that it cannot make out (WSL, virtual
    machines), below Python and before it can be asked not to.
    """
    try:
        kept = os.dup(2)
    except OSError:  # closed: there is nothing to silence
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
