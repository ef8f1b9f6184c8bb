"""The sentence model: texts in, vectors out, such that texts of like meaning have near vectors.

It lies in the package (docs/adr/0011). Nothing is downloaded and nothing is sent.
"""

import json
import os
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from prong.errors import Corrupt, Unavailable
from prong.record import Record
from prong.search.pieces import Pieces

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
