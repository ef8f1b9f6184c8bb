"""A double of `wezterm`: the verbs of `wezterm cli` as they are documented, done by a private tmux.

WezTerm is in no package index that the tests can use. This shows that prong uses the documented
verbs and flags and understands the documented answers; it does not show how WezTerm behaves.
What is asked for and is not documented is an error. Texts of more than 1024 bytes are cut off,
as people have reported.

Its socket is that of the tmux server. Panes are numbered like those of tmux.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

LIMIT = 1024
PROGRAM = """\
#!/bin/sh
# A long text comes in hundreds of pieces, for each of which Python would take its time to start.
if [ "$2 $3 $#" = "send-text --pane-id 4" ]; then
    head -c {limit} | tmux -u -S "$WEZTERM_UNIX_SOCKET" load-buffer -b x - \\; \\
        paste-buffer -p -r -d -b x -t "%$4" 2>/dev/null && exit
fi
exec '{python}' -I -S '{file}' "$@"
"""


def install(folder: Path) -> Path:
    """A folder for PATH with a program `wezterm` in it."""
    program = folder / "wezterm"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(PROGRAM.format(limit=LIMIT, python=sys.executable, file=__file__))
    program.chmod(0o755)
    return folder


class Double:
    def __init__(self, socket: str) -> None:
        self.socket = socket

    def spawn(self, given: argparse.Namespace) -> None:
        self._open(["new-window", "-d"], given)

    def split_pane(self, given: argparse.Namespace) -> None:
        side = "-h" if given.right else "-v"
        self._open(["split-window", "-d", side, "-t", f"%{given.pane_id}"], given)

    def send_text(self, given: argparse.Namespace) -> None:
        text = sys.stdin.buffer.read() if given.text is None else os.fsencode(given.text)
        marked = [] if given.no_paste else ["-p"]
        self._tmux(
            *("load-buffer", "-b", "x", "-", ";"),
            *("paste-buffer", *marked, "-r", "-d", "-b", "x", "-t", f"%{given.pane_id}"),
            given=text[:LIMIT],
        )

    def get_text(self, given: argparse.Namespace) -> None:
        start = [] if given.start_line is None else ["-S", str(given.start_line)]
        sys.stdout.write(self._tmux("capture-pane", "-p", *start, "-t", f"%{given.pane_id}"))

    def list_(self, given: argparse.Namespace) -> None:
        told = "#{pane_id}\n#{window_width}\n#{window_height}\n#{window_name}\n#{pane_current_path}"
        lines = self._tmux("list-panes", "-a", "-F", told).split("\n")
        panes = [
            {
                "window_id": 0,
                "tab_id": 0,
                "pane_id": int(lines[at][1:]),
                "workspace": "default",
                "size": {"rows": int(lines[at + 2]), "cols": int(lines[at + 1])},
                "title": lines[at + 3],
                "cwd": f"file://host{quote(lines[at + 4])}",
            }
            for at in range(0, len(lines) - 1, 5)
        ]
        sys.stdout.write(json.dumps(panes))

    def kill_pane(self, given: argparse.Namespace) -> None:
        self._tmux("kill-pane", "-t", f"%{given.pane_id}")

    def activate_pane(self, given: argparse.Namespace) -> None:
        self._tmux("select-window", "-t", f"%{given.pane_id}")

    def set_tab_title(self, given: argparse.Namespace) -> None:
        self._tmux("rename-window", "-t", f"%{given.pane_id}", f"{given.title} ".replace("#", "##"))

    def _open(self, verb: list[str], given: argparse.Namespace) -> None:
        # A `;` at the end of a word would be tmux's own.
        folder = re.sub(";$", r"\\;", given.cwd)
        program = ["env", "-C", folder, *given.program]
        told = self._tmux(*verb, "-P", "-F", "#{pane_id}", *program)
        sys.stdout.write(told[1:])

    def _tmux(self, *arguments: str, given: bytes = b"") -> str:
        argv = ["tmux", "-u", "-S", self.socket, *arguments]
        done = subprocess.run(argv, input=given, capture_output=True, check=False)
        if done.returncode:
            said = done.stderr.decode()
            if "server" in said or "connecting" in said:
                sys.exit(f"ERROR wezterm > failed to connect to Socket({self.socket!r}): {said}")
            if "can't find pane" in said:
                sys.exit(f"ERROR wezterm > no such pane {said}; terminating")
            sys.exit(f"ERROR wezterm > {said}")
        return done.stdout.decode()


def documented() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("wezterm", allow_abbrev=False)
    cli = (
        parser.add_subparsers(required=True)
        .add_parser("cli")
        .add_subparsers(dest="verb", required=True)
    )
    verbs = {
        name: cli.add_parser(name, allow_abbrev=False)
        for name in (
            *("spawn", "split-pane", "send-text", "get-text", "list", "kill-pane"),
            *("activate-pane", "set-tab-title"),
        )
    }
    for name, verb in verbs.items():
        if name not in {"list", "spawn"}:
            verb.add_argument("--pane-id", type=int, required=True)
    place = verbs["spawn"].add_mutually_exclusive_group()
    place.add_argument("--pane-id", type=int)
    place.add_argument("--window-id", type=int)
    place.add_argument("--new-window", action="store_true")
    side = verbs["split-pane"].add_mutually_exclusive_group()
    for name in ("--right", "--left", "--top", "--bottom"):
        side.add_argument(name, action="store_true")
    verbs["split-pane"].add_argument("--percent", type=int)
    for name in ("spawn", "split-pane"):
        verbs[name].add_argument("--cwd", default=".")
        verbs[name].add_argument("program", nargs="*")
    verbs["send-text"].add_argument("--no-paste", action="store_true")
    verbs["send-text"].add_argument("text", nargs="?")
    verbs["get-text"].add_argument("--start-line", type=int)
    verbs["get-text"].add_argument("--end-line", type=int)
    verbs["get-text"].add_argument("--escapes", action="store_true")
    verbs["list"].add_argument("--format", choices=["table", "json"], default="table")
    verbs["set-tab-title"].add_argument("title")
    return parser


def main() -> None:
    given = documented().parse_args()
    double = Double(os.environ.get("WEZTERM_UNIX_SOCKET", "/none"))
    verb = given.verb.replace("-", "_")
    getattr(double, "list_" if verb == "list" else verb)(given)


if __name__ == "__main__":
    main()
