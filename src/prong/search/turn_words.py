"""Turn texts in the form in which they are indexed."""

from datetime import UTC, datetime

from prong.model.turn_text import TurnText
from prong.search.analyzers import names_in, spelled
from prong.search.candidates import number_of, place_of
from prong.search.lexical import TurnWords

LONGEST_TEXT = 200_000
"""Maximum length of one field of a turn. Longer text was pasted or printed, not said."""
_RESULT = 1_000
"""Length of the last answer that represents the turn in its session's document."""


def words_of_turn(turn: TurnText, key: int) -> TurnWords:
    """Convert the texts of a turn to index fields."""
    import hashlib  # slow to import, and not needed by a search without changes

    prompt, files = spelled(turn.prompt[:LONGEST_TEXT]), spelled("\n".join(turn.files))
    last = spelled(turn.last_answer[:LONGEST_TEXT])
    id_ = number_of(turn.id)
    said = f"{turn.prompt}\0{turn.answer}".encode("utf-8", "replace")
    return TurnWords(
        key,
        id_,
        milliseconds(turn.started),
        int.from_bytes(hashlib.blake2b(said, digest_size=8).digest()) >> 1,
        place_of(id_, turn.index, turn.kind),
        prompt,
        spelled(turn.answer[:LONGEST_TEXT]),
        files,
        spelled("\n".join(turn.commands)[:LONGEST_TEXT]),
        spelled(turn.output),
        spelled(turn.aside[:LONGEST_TEXT]),
        # Scanning all answers would take as long as all other fields together.
        names_in(f"{prompt}\n{last}\n{files}"),
        last[:_RESULT],
    )


def milliseconds(started: str | None) -> int:
    """Convert an ISO time to the index's milliseconds; 0 when it is missing or invalid."""
    try:
        time = datetime.fromisoformat(started) if started else None
    except ValueError:
        return 0
    if time is None:
        return 0
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


_SEPARATORS = "\"',;(){}[]<>|"
"""Characters that no secret key contains."""


def head(text: str, length: int) -> str:
    """Shorten a text at a word end: a key cut in half is not recognized, and would be shown."""
    text = text.strip()
    if len(text) > length:
        text = text[: _end_of_word(text, length)]
    # SQLite does not accept lone surrogates.
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _end_of_word(text: str, length: int) -> int:
    """Find where to cut: at a space, else at a separator, else at 0."""

    def is_solid(character: str, separators: str) -> bool:
        return character.isascii() and not character.isspace() and character not in separators

    for separators in ("", _SEPARATORS):
        for at in range(length, 0, -1):
            if not (is_solid(text[at - 1], separators) and is_solid(text[at], separators)):
                return at
    return 0
