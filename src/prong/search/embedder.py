"""Sentence model: maps texts to vectors, so that similar meanings have near vectors.

The model is part of the package (docs/adr/0011). Nothing is downloaded or sent.
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
_LONGEST_WORD = 100  # characters; longer words become unknown
_LEFT_OUT = frozenset(("Cc", "Cf", "Co", "Cs", "Mn"))  # controls, surrogates, accents
_ASCII_MARKS = frozenset("$+<=>^`|~")  # Unicode calls these symbols

# Each ideograph is a word. As in BERT: without kana and hangul.
_IDEOGRAPHS = (
    range(0x3400, 0x4DC0),
    range(0x4E00, 0xA000),
    range(0xF900, 0xFB00),
    range(0x20000, 0x2A6E0),
    range(0x2A700, 0x2CEB0),
    range(0x2F800, 0x2FA20),
)


class Pieces:
    """WordPiece tokenizer."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        """Use a vocabulary in id order; pieces inside a word begin with `##`."""
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self._unknown = self._numbers[_UNKNOWN]
        self._begin = self._numbers[_BEGIN]
        self._end = self._numbers[_END]
        self._letters = _Letters()

    def numbers(self, text: str, most: int) -> list[int]:
        """Tokenize a text, cut to `most` ids including the begin and end markers."""
        words = unicodedata.normalize("NFD", text).translate(self._letters).split()
        pieces = (number for word in words for number in self._of_word(word))
        return [self._begin, *islice(pieces, most - 2), self._end]

    def _of_word(self, word: str) -> list[int]:
        if word in self._numbers:
            return [self._numbers[word]]
        if len(word) > _LONGEST_WORD:
            return [self._unknown]
        numbers: list[int] = []
        at = 0
        while at < len(word):
            begin = "##" if at else ""
            for end in range(len(word), at, -1):
                number = self._numbers.get(begin + word[at:end])
                if number is not None:
                    numbers.append(number)
                    at = end
                    break
            else:
                return [self._unknown]
        return numbers


class _Letters(dict[int, str]):
    """Replacement of each character, computed when it first occurs."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if character.isspace() and (category[0] == "Z" or character in "\t\n\r"):
            letter = " "
        elif category in _LEFT_OUT or character == "\N{REPLACEMENT CHARACTER}":
            letter = ""
        elif (
            category[0] == "P"
            or character in _ASCII_MARKS
            or any(code in block for block in _IDEOGRAPHS)
        ):
            letter = f" {character} "
        else:
            letter = character.lower()
        self[code] = letter
        return letter


MODEL_FOLDER = Path(__file__).parent / "model"
MODEL_ID = "all-MiniLM-L6-v2 7972f48a9e48"
"""Vectors of different models are not comparable. The suffix is from the model's SHA-256."""
DIMENSIONS = 384

_PIECES = 256
_LONGEST = 8 * 1024  # characters: more than 256 pieces of any text written in words
_IDLE_SECONDS = 600
_ONLY_FATAL = 4  # log severity level
_IMPORTING = Lock()
_HINT = "Reinstall prong. Until then, search uses keywords only."


class _Loaded(Record, frozen=True):
    pieces: Pieces
    session: Any
    """An `onnxruntime.InferenceSession`; the package has no types."""

    def vector(self, text: str) -> "NDArray[np.float32]":
        import numpy as np

        numbers = self.pieces.numbers(text[:_LONGEST], _PIECES)
        ids = np.array([numbers], dtype=np.int64)
        try:
            (vectors,) = self.session.run(["vectors"], {"ids": ids})
        except Exception as error:  # onnxruntime does not document its exceptions
            raise Corrupt(f"the sentence model does not work: {error}", hint=_HINT) from error
        return vectors[0]


class Embedder:
    """Computes vectors. The model is loaded on first use and takes about 100 MB.

    Thread-safe.
    """

    def __init__(self, *, threads: int = 1, folder: Path = MODEL_FOLDER) -> None:
        self._threads = threads
        self._folder = folder
        self._loaded: _Loaded | None = None
        self._loading = Lock()
        self._used = 0.0

    def embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """Embed each text, cut to its beginning, as a row of length 1.

        Raises `Unavailable` or `Corrupt` when there is no working model.
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
        """Free the memory. The next call loads the model again."""
        if self._loaded is not None:
            import ctypes

            self._loaded = None
            # Return it to the system, where glibc would keep half of it.
            if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
                trim(0)

    def unload_if_idle(self, now: float | None = None) -> None:
        """Unload ten minutes after the last call. Long-running programs call this regularly."""
        if (time.monotonic() if now is None else now) - self._used >= _IDLE_SECONDS:
            self.unload()

    def _vectors(self, loaded: _Loaded, texts: Sequence[str]) -> "Iterator[NDArray[np.float32]]":
        if self._threads == 1 or len(texts) < 2:
            yield from map(loaded.vector, texts)
            return
        # One text per thread is faster than threads inside the model or batches.
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
        # Locked: a second thread would take the silenced stderr for the real one.
        with _IMPORTING:
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
    except Exception as error:  # onnxruntime does not document its exceptions
        raise Corrupt(f"the sentence model cannot be read: {error}", hint=_HINT) from error
    return _Loaded(pieces, session)


@cache
def _runtime() -> Any:
    """Import `onnxruntime` with its telemetry and log disabled."""
    # From 1.29 it reports every process that loads it, and keeps a machine id in the user's
    # folders, unless this is set before the import. Its own switch comes too late.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    with _silence():
        import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
    runtime: Any = onnxruntime
    runtime.disable_telemetry_events()
    runtime.set_default_logger_severity(_ONLY_FATAL)
    return runtime


@contextmanager
def _silence() -> Generator[None]:
    """Discard everything written to standard error.

    On import, onnxruntime warns of unknown graphics cards (WSL, virtual machines) from native code,
    before its logging can be configured.
    """
    try:
        stderr = os.dup(2)
    except OSError:  # closed: nothing to silence
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(nowhere)
