"""The words of a turn as the index gets them."""

from datetime import UTC, datetime

from prong.model.turn_text import TurnText
from prong.search.analyzers import names_in, spelled
from prong.search.candidates import number_of, place_of
from prong.search.lexical import TurnWords

LONGEST_TEXT = 200_000
"""Of one field of one turn. What is longer was pasted or printed, not said."""
_RESULT = 1_000
"""So much of the last answer of a turn stands for the turn in its session."""


def words_of_turn(turn: TurnText, key: int) -> TurnWords:
    """All of them, spelled."""
    prompt, files = spelled(turn.prompt[:LONGEST_TEXT]), spelled("\n".join(turn.files))
    last = spelled(turn.last_answer[:LONGEST_TEXT])
    id_ = number_of(turn.id)
    return TurnWords(
        key,
        id_,
        milliseconds(turn.started),
        _fingerprint(turn),
        place_of(id_, turn.index, turn.kind),
        prompt,
        spelled(turn.answer[:LONGEST_TEXT]),
        files,
        spelled("\n".join(turn.commands)[:LONGEST_TEXT]),
        spelled(turn.output),
        spelled(turn.aside[:LONGEST_TEXT]),
        # All of the answers would take as long as all the rest.
        names_in(f"{prompt}\n{last}\n{files}"),
        last[:_RESULT],
    )


def _fingerprint(turn: TurnText) -> int:
    import hashlib  # takes long to load, and a search that finds nothing new needs none

    said = f"{turn.prompt}\0{turn.answer}".encode("utf-8", "replace")
    return int.from_bytes(hashlib.blake2b(said, digest_size=8).digest()) >> 1


def milliseconds(started: str | None) -> int:
    """A time as the index has it; 0 when there is none."""
    try:
        moment = datetime.fromisoformat(started) if started else None
    except ValueError:
        return 0
    if moment is None:
        return 0
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


_SEPARATORS = "\"',;(){}[]<>|"
"""What no key has in it."""


def head(text: str, length: int) -> str:
    """At most so long. It ends with a word: half a key is not known for one, and would be shown."""
    text = text.strip()
    if len(text) > length:
        text = text[: _end_of_word(text, length)]
    # A lone surrogate is no text for a database.
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _end_of_word(text: str, length: int) -> int:
    """Where to cut: at a blank, else at what separates; at the beginning of what is all one."""
    for inside in (_is_solid, _may_be_of_key):
        for at in range(length, 0, -1):
            if not (inside(text[at - 1]) and inside(text[at])):
                return at
    return 0


def _is_solid(character: str) -> bool:
    return character.isascii() and not character.isspace()


def _may_be_of_key(character: str) -> bool:
    return _is_solid(character) and character not in _SEPARATORS
