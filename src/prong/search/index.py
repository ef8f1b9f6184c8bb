"""Built-in search index: a tantivy word index and an SQLite catalogue in one folder.

There is one writer at a time, and both parts may be deleted at any time. A killed writer does no
harm: the catalogue first announces which marks will change; then the words are committed; then the
catalogue describes them. Words without a catalogue entry are never found, and the next writer
removes them. A file whose words were removed still has its old stamp, so it is read again.
"""

import errno
import sqlite3
import time
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from prong.errors import Busy, Unavailable
from prong.files.atomic import held
from prong.files.regular import refuse_special
from prong.model.turn_text import FileTexts, TurnText
from prong.paths import private_dir
from prong.search.catalogue import (
    MOST_TURNS,
    ORDINAL_BITS,
    Catalogue,
    IndexedFile,
    IndexedTurn,
    new_mark,
)
from prong.search.lexical import Lexical, LexicalWriter
from prong.search.turn_words import LONGEST_TEXT, head, words_of_turn

_PASSING = ("lockfile", "too many open files", "no space", "permission denied", "read-only")
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM}
_SQLITE_NO_ROOM = {
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY),
}


def is_damage(error: Exception) -> bool:
    """Return True when the index must be rebuilt; a lock or a full disk will pass."""
    if isinstance(error, sqlite3.IntegrityError):
        return False  # our own write was wrong, not the stored data
    if isinstance(error, sqlite3.Error):
        operational = isinstance(error, sqlite3.OperationalError)
        return "no such" in str(error) if operational else isinstance(error, sqlite3.DatabaseError)
    if isinstance(error, ValueError):
        # tantivy raises only `ValueError`.
        return not any(sign in str(error).lower() for sign in _PASSING)
    return isinstance(error, FileNotFoundError)


def has_no_room(error: BaseException | None) -> bool:
    """Return True when the error means that the index folder cannot be written to."""
    if isinstance(error, sqlite3.Error):
        # Errors without a code do not come from SQLite itself; the low byte is the error class.
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _SQLITE_NO_ROOM
    if isinstance(error, ValueError):
        return any(sign in str(error).lower() for sign in _PASSING[2:])
    return isinstance(error, OSError) and error.errno in _NO_ROOM


def unavailable(error: Exception) -> Exception:
    """Convert an error from opening the index into an `OSError` or `Unavailable`."""
    if isinstance(error, OSError):
        return error
    if has_no_room(error):
        return OSError(errno.ENOSPC, str(error))
    return Unavailable(f"cannot use the search index: {error}", hint="try again in a moment")


VERSION = 4
"""Increase it when an older index would give different results; the index is then rebuilt."""
PROMPT_HEAD = 500
ANSWER_HEAD = 700
"""Number of characters of a turn that are embedded and shown in a list of hits."""
_LONGEST_SESSION = 2_000_000
_CHECKPOINT = 5.0
"""Interval in seconds at which a long run commits its changes."""
_PATIENCE = 10.0
_FAILURES = (sqlite3.Error, ValueError, OSError)


class SearchIndex:
    def __init__(self, folder: Path, *, output: bool = True) -> None:
        """Open the index, creating a missing one and rebuilding a damaged one.

        Without `output`, tool output is not indexed. Raises `OSError` or `Unavailable` when it can
        be neither opened nor created.
        """
        try:
            folder.as_posix().encode()  # tantivy takes the path as text
        except UnicodeEncodeError:
            raise OSError(errno.EILSEQ, "its name is not UTF-8") from None
        self.output = output
        self.folder = private_dir(folder) / f"v{VERSION}{'' if output else '-said'}"
        try:
            # tantivy writes this file last when it creates an index.
            if not (self.folder / "words" / "meta.json").exists():
                raise FileNotFoundError  # created below, under the lock
            self._open()
        except _FAILURES as error:
            if not is_damage(error):
                raise unavailable(error) from error
            self.start_again()

    def _open(self) -> None:
        private_dir(self.folder)
        refuse_special(self.folder)
        self.catalogue = Catalogue(self.folder / "catalogue.db")
        self._opened = self._identity()
        try:
            self.words = Lexical(self.folder / "words")
        except BaseException:
            self.catalogue.close()
            raise

    def start_again(self) -> None:
        """Reopen the index, and replace it if it is damaged."""
        with self._lock(_PATIENCE) as free:
            try:
                self._open()
                self.catalogue.check()
            except _FAILURES as error:
                if not is_damage(error) or not free:
                    raise unavailable(error) from error
                import shutil

                shutil.rmtree(self.folder, ignore_errors=True)
                self._open()

    def _identity(self) -> int | None:
        """Return the inode of the catalogue file that is in the folder now."""
        with suppress(OSError):
            return (self.folder / "catalogue.db").stat().st_ino
        return None

    def reload(self) -> None:
        """Pick up changes by other processes: new words, or a replaced index."""
        if self._identity() != self._opened:
            self.catalogue.close()
            self.start_again()
        self.words.reload()

    def close(self) -> None:
        self.catalogue.close()

    @property
    def size(self) -> int:
        """Size on disk in bytes."""
        total = 0
        for path in self.folder.rglob("*"):
            # Another process may be deleting files.
            with suppress(OSError):
                total += path.stat().st_size
        return total

    def clear(self) -> None:
        """Delete all contents in place, because other processes may have the index open."""
        with self.writing(_PATIENCE) as update:
            if update is None:
                raise Busy("another prong is updating the index", hint="try again in a moment")
            update.clear()

    def is_busy(self) -> bool:
        """Return True while another process writes."""
        with self._lock(0) as free:
            return not free

    def _lock(self, patience: float) -> AbstractContextManager[bool]:
        return held(self.folder.parent / "lock", patience)

    @contextmanager
    def writing(self, patience: float = 0) -> Generator["Update | None"]:
        """Yield an update that is committed on exit, even after an exception; None while locked."""
        self.reload()
        with self._lock(patience) as free:
            # Another process may have written while we waited.
            self.words.reload()
            if not free:
                yield None
                return
            update = Update(self)
            try:
                yield update
            finally:
                update.close()
                if update.wrote:
                    self._tidy()
                    self.words.reload()

    def _tidy(self) -> None:
        """Delete the indexes of other versions, and make the files of this one private."""
        for other in self.folder.parent.glob("v[0-9]*"):
            if other.is_dir() and other.name.removesuffix("-said") != f"v{VERSION}":
                import shutil

                shutil.rmtree(other, ignore_errors=True)
        for path in (self.folder / "words").rglob("*"):
            # tantivy deletes files while it merges segments.
            with suppress(OSError):
                path.chmod(0o700 if path.is_dir() else 0o600)


class Update:
    """Pending changes to the index, visible after `commit`; `add` commits now and then.

    After a failed commit an update does nothing more; the next one repairs what it left.
    """

    def __init__(self, index: SearchIndex) -> None:
        self.output = index.output
        self._index = index
        self._catalogue = index.catalogue
        self._open_writer: LexicalWriter | None = None
        self.wrote = False
        """True once the word index has, or may have, changed."""
        self._added: list[tuple[IndexedFile, list[IndexedTurn], dict[int, list[str]]]] = []
        self._removed: list[int] = []
        self._titles: dict[int, str] = {}
        self._facts: dict[str, bytes] = {}
        self._next_commit = time.monotonic() + _CHECKPOINT
        self._failed = False

    @property
    def _writer(self) -> LexicalWriter:
        """The word index writer, opened on first use because it starts threads."""
        if self._open_writer is None:
            self.wrote = True
            self._open_writer = self._index.words.writer()
            for mark in self._catalogue.unfinished():
                # The catalogue hides these files, so they are read again under new marks.
                self._open_writer.remove(mark)
                self._removed.append(mark)
        return self._open_writer

    def add(self, agent: str, texts: FileTexts, old: IndexedFile | None) -> IndexedFile:
        """Index a file, replacing its previous entry."""
        mark = new_mark()
        if old is not None:
            self.remove(old.mark)
        try:
            turns, more = self._add_words(mark, texts.turns)
        except BaseException:
            # The other changes of this update will still be committed.
            self._writer.remove(mark)
            raise
        file = IndexedFile(mark, agent, texts.path, texts.stamp, texts.session_id, "", len(turns))
        self._added.append((file, turns, more))
        if time.monotonic() > self._next_commit:
            self.commit()
        return file

    def _add_words(
        self, mark: int, texts: Iterable[TurnText]
    ) -> tuple[list[IndexedTurn], dict[int, list[str]]]:
        """Index the words of turns; return the turns, and their texts beyond the heads by key."""
        writer = self._writer
        turns: list[IndexedTurn] = []
        more: dict[int, list[str]] = {}
        session_texts: list[str] = []
        names: list[str] = []
        before: str | None = None
        length = 0
        for ordinal, turn in enumerate(texts):
            if ordinal >= MOST_TURNS:
                break
            key = mark << ORDINAL_BITS | ordinal
            words = words_of_turn(turn, key)
            writer.add_turn(mark, words)
            indexed, unseen = _indexed(turn, key, words.fingerprint)
            if turn.index is not None:
                indexed, before = indexed._replace(before=before), turn.id
            turns.append(indexed)
            if unseen:
                more[key] = unseen
            if length < _LONGEST_SESSION:
                session_texts += (words.prompt, words.result)
                names += words.names
                length += len(words.prompt) + len(words.result)
        if turns:
            writer.add_session(mark, "\n".join(session_texts), names)
        return turns, more

    def remove(self, mark: int) -> None:
        self._writer.remove(mark)
        self._removed.append(mark)

    def give_title(self, mark: int, title: str, old: str) -> None:
        if old:
            self._writer.remove_title(mark)
        if title:
            self._writer.add_title(mark, title)
        self._titles[mark] = title

    def clear(self) -> None:
        self._catalogue.clear()
        self._writer.clear()
        self._writer.commit()

    def note(self, name: str, value: bytes) -> None:
        """Store a fact together with the next commit."""
        self._facts[name] = value

    def commit(self) -> None:
        """Make all pending changes visible."""
        try:
            if self._added or self._removed or self._titles:
                self._commit(self._writer)
            else:
                self._catalogue.note(self._facts)
            # Inside the `try`: an interrupt must not lead to committing the same changes twice.
            self._added, self._removed, self._titles, self._facts = [], [], {}, {}
        except BaseException:
            self._failed = True
            raise
        self._next_commit = time.monotonic() + _CHECKPOINT

    def _commit(self, writer: LexicalWriter) -> None:
        catalogue = self._catalogue
        with catalogue.transaction():
            catalogue.announce([*(file.mark for file, *_ in self._added), *self._removed])
        writer.commit()
        with catalogue.transaction():
            catalogue.remove(self._removed)
            # Sorted by key: marks are random, and inserting in order fills pages one by one.
            for file, turns, texts in sorted(self._added, key=lambda one: one[0].mark):
                catalogue.add(file, turns, texts)
            for mark, title in self._titles.items():
                catalogue.give_title(mark, title)
            catalogue.finished()
            catalogue.note(self._facts)

    def close(self) -> None:
        try:
            if not self._failed:
                self.commit()
                if self._open_writer is not None:
                    self._open_writer.close()
        finally:
            writer, self._open_writer = self._open_writer, None
            if writer is not None:
                writer.let_go()


def _indexed(turn: TurnText, key: int, fingerprint: int) -> tuple[IndexedTurn, list[str]]:
    """Return what the catalogue stores of a turn, and its texts that the heads do not show."""
    prompt, answer = head(turn.prompt, PROMPT_HEAD), head(turn.last_answer, ANSWER_HEAD)
    files = head("\n".join(turn.files), LONGEST_TEXT)
    limited = (turn.prompt, turn.answer, "\n".join(turn.commands), files, turn.aside)
    texts = (*(text[:LONGEST_TEXT] for text in limited), turn.output)
    indexed = IndexedTurn(
        key, turn.id, turn.index, turn.kind, turn.started, fingerprint, prompt, answer, files
    )
    return indexed, [text for text in texts if text not in ("", prompt, answer)]
