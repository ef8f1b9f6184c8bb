"""Program that the terminal tests run in panes; it reports its arguments and environment.

    python terminal_probe.py FILE MODE WORD...

It writes its arguments, folder, environment and pid to FILE. MODE says what comes next: `stay` runs
until killed; `end7` exits with that status; `read` copies terminal input unchanged to FILE.read;
`paste` does the same with bracketed paste; `print` prints the words and stays.
"""

import json
import os
import signal
import sys
import tty


def main(path: str, mode: str, *words: str) -> None:
    if mode in {"read", "paste"}:
        tty.setraw(0)
        with open(f"{path}.read", "wb"):  # noqa: PTH123
            pass
    if mode == "paste":
        os.write(1, b"\x1b[?2004h")
    if mode == "print":
        for word in words:
            os.write(1, os.fsencode(word) + b"\n")
    report = {
        "argv": words,
        "cwd": os.getcwd(),  # noqa: PTH109
        "env": dict(os.environ),
        "pid": os.getpid(),
    }
    with open(f"{path}.new", "w", encoding="ascii") as file:  # noqa: PTH123
        json.dump(report, file)
    os.rename(f"{path}.new", path)  # noqa: PTH104 -- it is there whole or not at all
    if mode.startswith("end"):
        sys.exit(int(mode[3:]))
    if mode in {"read", "paste"}:
        with open(f"{path}.read", "ab", buffering=0) as file:  # noqa: PTH123
            while piece := os.read(0, 1 << 16):
                file.write(piece)
    while True:
        signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])
