"""Word pieces: how the sentence model wants its text.

Words without capitals and accents, each punctuation mark a word; and a word that is not in the
vocabulary is cut into the longest pieces that are. This is what BERT's uncased tokenizer does.
"""

import unicodedata
from collections.abc import Iterable
from itertools import islice

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
