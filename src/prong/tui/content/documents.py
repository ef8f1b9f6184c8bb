"""Full-screen documents: transcripts and diffs. Made in a thread, because they read files."""

from collections.abc import Iterator

from prong.app import App
from prong.code.diff import CodeDiff
from prong.model.sessions import Session
from prong.session.transcript import paired
from prong.tui.content import preview
from prong.tui.content.preview import Preview
from prong.tui.content.transcript import TranscriptLines, rule
from prong.tui.widgets.lines import Line, Mark, parted
from prong.views.code_change import patch_lines, stat_rows, summary
from prong.views.text import clean

_STAT_COLUMNS = 78
_STYLES = {"head": "bold", "hunk": "", "added": "added", "removed": "removed", "plain": ""}


def transcript(app: App, session: Session, turn: int | None = None) -> Preview:
    """Read the whole transcript; the turn with this number is visible first."""
    lines: list[Line] = []
    top = 0
    transcript_lines = TranscriptLines(everything=True)
    current: int | None = None
    for message in paired(app.sessions.messages(session)):
        if message.turn is not None and message.turn != current:
            current = message.turn
            top = len(lines) if current == turn else top
            lines.append(rule(f"turn {current}"))
        lines += parted(transcript_lines.message(message))
    return Preview(lines or preview.nothing("No messages yet."), top)


def change(app: App, point: str) -> Preview:
    """Read the code change at `SESSION@TURN`."""
    return Preview(list(parted(_change(app.code.diff(point)))))


def _change(found: CodeDiff) -> Iterator[Line]:
    yield Line(summary(found) if found.files else "no code changes", "title")
    yield from (Line(f"note: {clean(note)}", "dim") for note in found.notes)
    yield from (preview.bar(*row) for row in stat_rows(found.files, _STAT_COLUMNS))
    for kind, text, lead in patch_lines(found.patch()):
        expanded = text.expandtabs(4)
        if kind == "head" and text.startswith("diff "):
            yield Line()
        marks = (Mark(0, lead, "hunk"),) if kind == "hunk" else ()
        yield Line(expanded, _STYLES[kind], marks)
