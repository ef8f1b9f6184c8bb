"""The first program in every pane: reads a launch file and becomes the program named in it.

Run by path, with the standard library only: `python -I -S launcher.py FILE`.
`prong.terminals.handover` writes the file and explains why.
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
        os.execvp(argv[0], argv)  # noqa: S606 -- the purpose of this file
    except OSError as error:
        subject = folder if error.filename == folder else argv[0]
        sys.stderr.write(f"prong: cannot start {os.fsdecode(subject)!r}: {error.strerror}\n")
        sys.exit(127)  # as a shell would


if __name__ == "__main__":
    main(sys.argv[1])
