"""The first program in every pane that prong opens: it becomes the one that was asked for.

It is run by its path, with nothing but the standard library: `python -I -S launcher.py FILE`.
`prong.terminals.handover` writes the file and tells why.
"""

import os
import sys


def main(path: str) -> None:
    with open(path, "rb") as file:  # noqa: PTH123 -- pathlib takes longer than all of this
        folder, count, *fields = file.read().split(b"\0")
    os.unlink(path)  # noqa: PTH108
    argv, changes = fields[: int(count)], fields[int(count) :]
    for change in changes:
        name, is_set, value = change.partition(b"=")
        if is_set:
            os.environb[name] = value
        else:
            os.environb.pop(name, None)
    try:
        os.chdir(folder)
        os.environb[b"PWD"] = folder
        os.execvp(argv[0], argv)  # noqa: S606 -- that is what it is for
    except OSError as error:
        subject = folder if error.filename == folder else argv[0]
        sys.stderr.write(f"prong: cannot start {os.fsdecode(subject)!r}: {error.strerror}\n")
        sys.exit(127)  # as a shell would


if __name__ == "__main__":
    main(sys.argv[1])
