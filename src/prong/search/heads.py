"""The beginning of a text, as much as is shown and as the sentence model reads."""

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
