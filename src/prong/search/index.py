"""The built-in index: words (tantivy) and catalogue (sqlite) in one folder, with one writer.

Both may be deleted at any time. The order of writing makes every moment a good one to be killed:
what will change in the words is announced in the catalogue; the words are committed; then the
catalogue says what they mean. Words that nobody explains are never found, and are taken out by the
next writer; a file whose old words are gone has still its old stamp, and is read again.
"""

import errno
import os
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from prong.errors import Busy, Unavailable
from prong.files.lock import locked
from prong.files.regular import refuse_special
from prong.model.turn_text import FileTexts, Stamp, TurnText
from prong.paths import private_dir
from prong.search.catalogue import (
    MOST_TURNS,
    ORDINAL_BITS,
    Catalogue,
    Heads,
    IndexedFile,
    IndexedTurn,
    TurnRow,
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
    """True when an index must be made anew; what others hold, or what the disk lacks, will pass."""
    if isinstance(error, sqlite3.IntegrityError):
        return False  # what we wrote was wrong, not what is there
    if isinstance(error, sqlite3.Error):
        operational = isinstance(error, sqlite3.OperationalError)
        return "no such" in str(error) if operational else isinstance(error, sqlite3.DatabaseError)
    if isinstance(error, ValueError):
        # All errors of tantivy are of this kind.
        return not any(sign in str(error).lower() for sign in _PASSING)
    return isinstance(error, FileNotFoundError)


def has_no_room(error: BaseException | None) -> bool:
    """True when nothing can be written where the index is."""
    if isinstance(error, sqlite3.Error):
        # Without a code it did not come from sqlite itself; the lower bits are the kind.
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _SQLITE_NO_ROOM
    if isinstance(error, ValueError):
        return any(sign in str(error).lower() for sign in _PASSING[2:])
    return isinstance(error, OSError) and error.errno in _NO_ROOM


def unavailable(error: Exception) -> Exception:
    """What to say of an index that cannot be opened; an `OSError` is one."""
    if isinstance(error, OSError):
        return error
    if has_no_room(error):
        return OSError(errno.ENOSPC, str(error))
    return Unavailable(f"cannot use the search index: {error}", hint="try again in a moment")


VERSION = 3
"""Raised when the index of another version would answer otherwise; it is then built anew."""
PROMPT_HEAD = 500
ANSWER_HEAD = 700
"""How much of a turn the sentence model reads, and a list of hits shows."""
_LONGEST_SESSION = 2_000_000
_CHECKPOINT = 5.0
"""Seconds after which a long run makes what it has usable."""
_PATIENCE = 10.0
_FAILURES = (sqlite3.Error, ValueError, OSError)


class SearchIndex:
    """The index in a folder, open to be asked."""

    def __init__(self, folder: Path, *, output: bool = True) -> None:
        """Open it; it is made when it is not there, and made anew when it is damaged.

        Without `output`, what tools printed is not in it. Raises `OSError` or `Unavailable` when it
        can be neither opened nor made.
        """
        self.output = output
        self._folder = private_dir(folder) / f"v{VERSION}{'' if output else '-said'}"
        try:
            if not self._meta.exists():
                raise FileNotFoundError  # made below, by one process alone
            self._open()
        except _FAILURES as error:
            if not is_damage(error):
                raise unavailable(error) from error
            self.start_again()

    @property
    def _meta(self) -> Path:
        """What tantivy writes last when it makes an index."""
        return self._folder / "words" / "meta.json"

    def _open(self) -> None:
        private_dir(self._folder)
        refuse_special(self._folder)
        self.catalogue = Catalogue(self._folder / "catalogue.db")
        self._opened = self._identity()
        try:
            self.words = Lexical(self._folder / "words")
        except BaseException:
            self.catalogue.close()
            raise

    def start_again(self) -> None:
        """Open it anew; where that shows that it is damaged, make a new one."""
        with self._lock(_PATIENCE) as free:
            try:
                self._open()
                self.catalogue.check()
            except _FAILURES as error:
                if not is_damage(error) or not free:
                    raise unavailable(error) from error
                import shutil

                shutil.rmtree(self._folder, ignore_errors=True)
                self._open()

    def _identity(self) -> int | None:
        """Of the catalogue that is in the folder now."""
        try:
            return (self._folder / "catalogue.db").stat().st_ino
        except OSError:
            return None

    def reload(self) -> None:
        """See what others have done: more words, or another index in the place of this one."""
        if self._identity() != self._opened:
            self.catalogue.close()
            self.start_again()
        self.words.reload()

    def close(self) -> None:
        self.catalogue.close()

    @property
    def size(self) -> int:
        """Bytes on disk."""
        total = 0
        for path in self._folder.rglob("*"):
            # A writer may be at work.
            with suppress(OSError):
                total += path.stat().st_size
        return total

    def clear(self) -> None:
        """Forget everything, in place: others may have it open."""
        with self.writing(_PATIENCE) as update:
            if update is None:
                raise Busy("another prong is updating the index", hint="try again in a moment")
            update.clear()

    def is_busy(self) -> bool:
        """True while another process writes."""
        with self._lock(0) as free:
            return not free

    @contextmanager
    def _lock(self, patience: float) -> Generator[bool]:
        descriptor = os.open(self._folder.parent / "lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            yield locked(descriptor, patience)
        finally:
            os.close(descriptor)

    @contextmanager
    def writing(self, patience: float = 0) -> Generator["Update | None"]:
        """An update, committed at the end, also of an interrupted one; None while others write."""
        self.reload()
        with self._lock(patience) as free:
            # Others may have written while we waited.
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
                    self._sweep()
                    self._make_private()
                    self.words.reload()

    def _sweep(self) -> None:
        """Remove what other versions have left."""
        for other in self._folder.parent.glob("v[0-9]*"):
            if other.is_dir() and other.name.removesuffix("-said") != f"v{VERSION}":
                import shutil

                shutil.rmtree(other, ignore_errors=True)

    def _make_private(self) -> None:
        for path in (self._folder / "words").rglob("*"):
            # A file may go while segments are merged.
            with suppress(OSError):
                path.chmod(0o700 if path.is_dir() else 0o600)


class Update:
    """Changes to the index. Only `commit` makes them seen; it is called now and then by itself.

    One that failed while it committed does nothing more; the next update heals what it left.
    """

    def __init__(self, index: SearchIndex) -> None:
        self.output = index.output
        self._index = index
        self._catalogue = index.catalogue
        self._open_writer: LexicalWriter | None = None
        self.wrote = False
        """Something in the words was changed, or may have been."""
        self._added: list[tuple[IndexedFile, list[TurnRow]]] = []
        self._removed: list[int] = []
        self._titles: dict[int, str] = {}
        self._facts: dict[str, bytes] = {}
        self._next_commit = time.monotonic() + _CHECKPOINT
        self._failed = False
        self.turns = 0
        """How many were added."""

    @property
    def _writer(self) -> LexicalWriter:
        """Opened when there is something to write: that starts threads."""
        if self._open_writer is None:
            self.wrote = True
            self._open_writer = self._index.words.writer()
            for mark in self._catalogue.unfinished():
                # The catalogue hides such files, so they are read anew, and get other marks.
                self._open_writer.remove(mark)
                self._removed.append(mark)
        return self._open_writer

    def add(self, agent: str, texts: FileTexts, old: IndexedFile | None) -> IndexedFile:
        """Index the words of a file, in the place of what the index had of it."""
        mark = new_mark()
        if old is not None:
            self.remove(old.mark)
        try:
            turns = self._add_words(mark, texts.turns)
        except BaseException:
            # The rest of the update will be committed.
            self._writer.remove(mark)
            raise
        file = IndexedFile(mark, agent, texts.path, texts.stamp, texts.session_id, "", len(turns))
        self._added.append((file, turns))
        self.turns += len(turns)
        if time.monotonic() > self._next_commit:
            self.commit()
        return file

    def _add_words(self, mark: int, texts: Iterable[TurnText]) -> list[TurnRow]:
        writer = self._writer
        turns: list[TurnRow] = []
        said: list[str] = []
        names: list[str] = []
        length = 0
        for ordinal, turn in enumerate(texts):
            if ordinal >= MOST_TURNS:
                break
            key = mark << ORDINAL_BITS | ordinal
            words = words_of_turn(turn, key)
            writer.add_turn(mark, words)
            turns.append(_indexed(turn, key, words.fingerprint))
            if length < _LONGEST_SESSION:
                said += (words.prompt, words.result)
                names += words.names
                length += len(words.prompt) + len(words.result)
        if turns:
            writer.add_session(mark, "\n".join(said), names)
        return turns

    def remove(self, mark: int) -> None:
        """Take a file out."""
        self._writer.remove(mark)
        self._removed.append(mark)

    def give_title(self, mark: int, title: str, old: str) -> None:
        if old:
            self._writer.remove_title(mark)
        if title:
            self._writer.add_title(mark, title)
        self._titles[mark] = title

    def clear(self) -> None:
        """Take everything out."""
        self._catalogue.clear()
        self._writer.clear()
        self._writer.commit()

    def note(self, name: str, value: bytes) -> None:
        """Remember a fact once all that was changed so far is in the index: with a commit."""
        self._facts[name] = value

    def commit(self) -> None:
        """Make all changes seen."""
        try:
            if self._added or self._removed or self._titles:
                self._commit(self._writer)
            else:
                self._catalogue.note(self._facts)
            # Here, so that what was committed is never committed again, whatever interrupts us.
            self._added, self._removed, self._titles, self._facts = [], [], {}, {}
        except BaseException:
            self._failed = True
            self._catalogue.rollback()
            raise
        self._next_commit = time.monotonic() + _CHECKPOINT

    def _commit(self, writer: LexicalWriter) -> None:
        catalogue = self._catalogue
        catalogue.begin()
        catalogue.announce([*(file.mark for file, _ in self._added), *self._removed])
        catalogue.commit()
        writer.commit()
        catalogue.begin()
        catalogue.remove(self._removed)
        # In the order of their keys, which are random: so pages are filled one after the other.
        for file, turns in sorted(self._added, key=lambda one: one[0].mark):
            catalogue.add(file, turns)
        for mark, title in self._titles.items():
            catalogue.give_title(mark, title)
        catalogue.finished()
        catalogue.note(self._facts)
        catalogue.commit()

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


class FileSink:
    """Takes the words of an agent's files into an update, as long as there is time."""

    def __init__(
        self,
        update: Update,
        agent: str,
        known: Mapping[str, IndexedFile],
        *,
        in_time: Callable[[Stamp], bool] = lambda _: True,
        took: Callable[[FileTexts], None] = lambda _: None,
    ) -> None:
        self.output = update.output
        self.taken: dict[str, IndexedFile] = {}
        self._update = update
        self._agent = agent
        self._known = known
        self._in_time = in_time
        self._took = took

    def wants(self, path: str, stamp: Stamp) -> bool:
        known = self._known.get(path)
        return (known is None or known.stamp != stamp) and self._in_time(stamp)

    def take(self, texts: FileTexts) -> None:
        old = self.taken.get(texts.path) or self._known.get(texts.path)
        self.taken[texts.path] = self._update.add(self._agent, texts, old)
        self._took(texts)


def _indexed(turn: TurnText, key: int, fingerprint: int) -> TurnRow:
    return TurnRow(
        IndexedTurn(key, turn.id, turn.index, turn.kind, turn.started, fingerprint),
        Heads(head(turn.prompt, PROMPT_HEAD), head(turn.last_answer, ANSWER_HEAD)),
        head("\n".join(turn.files), LONGEST_TEXT),
    )


def outdated(known: Mapping[str, IndexedFile], stamps: Mapping[str, Stamp]) -> Sequence[str]:
    """The files that the index does not have as they are now, the newest first."""
    paths = (
        path for path, stamp in stamps.items() if path not in known or known[path].stamp != stamp
    )
    return sorted(paths, key=lambda path: stamps[path].mtime_ns, reverse=True)
