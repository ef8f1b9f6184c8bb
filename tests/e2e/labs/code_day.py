"""A day of work with a real agent: its turns change files, and so does the user in between."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.code.lab import Lab
from tests.e2e.fidelity.native import Native
from tests.e2e.labs.code_lab import Code, Desk


@dataclass
class Day:
    """What was there at the end of it."""

    desk: Desk
    native: Native
    caught_up: dict[str, Any] = field(repr=False)
    """What `prong turns` said while the session was open and its last turn interrupted."""
    screen: str = field(repr=False)
    """What the user saw last."""
    asked: list[dict[str, Any]] = field(repr=False)
    """All that the model was sent."""


def work(desk: Desk) -> Day:
    """Seven turns. The third is left behind by a rewind, two are interrupted."""
    user = desk.user
    begin(user)
    desk.install()
    desk.codes[""] = Code.of(desk.top)
    with desk.terminal() as terminal:
        desk.turn(
            terminal,
            "alpha",
            *desk.writes("notes.txt", "one\ntwo\nthree\n"),
            *desk.edits("src/app.py", "x = 1", "x = 2"),
            desk.shell("mkdir build && echo noise > build/out.log"),
        )
        desk.session = desk.open_session(terminal)
        user.git("add", "notes.txt", "src/app.py")
        user.git("commit", "-q", "-m", "what alpha did", "notes.txt", "src/app.py")
        desk.turn(
            terminal,
            "beta",
            desk.shell("mv src/old.py src/moved.py && rm notes.txt && chmod +x run.sh"),
            desk.shell("ln -s src/app.py current"),
        )
        user.write("other.txt", "by the user\n")
        user.git("add", "other.txt", "src")
        user.git("commit", "-q", "-m", "something else", "other.txt")
        desk.turn(
            terminal,
            "gamma",
            *desk.writes("gamma.txt", "soon gone\n"),
            *desk.edits("src/app.py", "x = 2", "x = 3"),
        )
        desk.rewind(terminal, "gamma")
        desk.turn(
            terminal,
            "delta",
            *desk.edits("src/app.py", "x = 2", "x = 4"),
            desk.shell("git add -A src && git commit -q -m 'by the agent' src"),
        )
        user.git("switch", "-q", "-c", "topic")
        desk.half_a_turn(terminal, "epsilon", "printf half > half.txt; rm other.txt")
        desk.turn(
            terminal,
            "zeta",
            desk.shell("ln -sfn README.md current && chmod -x run.sh"),
            desk.shell("printf '\\000\\001' > data.bin"),
        )
        user.git("commit", "-q", "-a", "-m", "on topic")
        desk.half_a_turn(terminal, "eta", "rm half.txt; printf late > late.txt")
        caught_up = desk.prong("turns", desk.ref)
        screen = terminal.tmux.capture()
        terminal.exit()
    asked = [request.body for request in desk.server.requests()]
    return Day(desk, desk.native(desk.resumed()), caught_up, screen, asked)


def begin(user: Lab) -> None:
    """A repository in the middle of something: stashed, staged, changed and new files."""
    user.write(".gitignore", "build/\n")
    user.write("src/app.py", "x = 1\ny = 1\n")
    user.write("src/old.py", "a\nb\nc\nd\n")
    user.write("run.sh", "#!/bin/sh\n")
    user.commit()
    user.write("run.sh", "#!/bin/bash\n")
    user.git("stash", "push", "-q")
    user.write("staged.txt", "for later\n")
    user.git("add", "staged.txt")
    user.write("staged.txt", "for later, and more\n")
    user.write("README.md", "# changed\n")
    user.write("draft.txt", "never added\n")
