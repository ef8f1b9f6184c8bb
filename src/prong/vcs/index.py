"""How large files are, as git's index has it. Read from its file: to ask for each takes too long.

The format is that of gitformat-index(5), versions 2 to 4.
"""

_HEADER = 12
_MODE = 24
_SIZE = 36
"""The size of the file stands here in an entry, and the id of its blob right behind it."""
SIZE = 4
"""So many bytes are a size. The rest of a very large one is not kept."""
_EXTENDED = 0x4000
_UNCHECKED = 0x4000
"""In the second word of flags: a file that need not be there (skip-worktree)."""
_STAGE = 0x3000
_LENGTH = 0x0FFF


def sizes(data: bytes, width: int) -> set[bytes] | None:
    """Size and blob of the regular files; None where the index is not all in this file.

    `width`: how long an id is, in bytes. What is returned are pieces of the index, size first.
    """
    version, count = int.from_bytes(data[4:8]), int.from_bytes(data[8:_HEADER])
    if data[:4] != b"DIRC" or version not in {2, 3, 4}:
        return None
    found: set[bytes] = set()
    behind = _SIZE + SIZE + width
    at = _HEADER
    for _ in range(count):
        flags = data[at + behind] << 8 | data[at + behind + 1]
        name = at + behind + 2
        checked = True
        if flags & _EXTENDED:
            checked = not (data[name] << 8 | data[name + 1]) & _UNCHECKED
            name += 2
        if data[at + _MODE + 2] >> 4 == 8 and not flags & _STAGE and checked:
            found.add(data[at + _SIZE : at + behind])
        length = flags & _LENGTH
        if version == 4 or length == _LENGTH:
            end = data.index(0, _name_begin(data, name) if version == 4 else name)
        else:
            end = name + length
        # At least one zero ends the name, and in the older versions fills up to eight bytes.
        at = end + 1 if version == 4 else at + ((end - at + 8) & ~7)
    return None if _is_split(data, at, width) else found


def _name_begin(data: bytes, at: int) -> int:
    """Behind the number that says how much of the name before is taken over."""
    while data[at] & 0x80:
        at += 1
    return at + 1


def _is_split(data: bytes, at: int, width: int) -> bool:
    """Whether most of the index is in another file."""
    while at < len(data) - width:
        if data[at : at + 4] == b"link":
            return True
        at += 8 + int.from_bytes(data[at + 4 : at + 8])
    return False
