"""A session as Markdown, for people and for search engines.

    ## Turn 1: Add rate limiting to the public API

    Time: 2026-01-07T00:11:47.756Z

    **Prompt**

    > Add rate limiting to the public API

    - `Bash` `make test` exit 1

Turn numbers change after a rewind; the time shows whether a number still refers to the same turn.

Text from the session is quoted or indented line by line, or put on one line. So none of its lines
looks like a line of ours, and none of its blocks, such as an unclosed fence, runs past its end.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from prong.model.sessions import Message, Session, Tool
from prong.redaction.visible import visible

_HEAD_LINES = 12
_TAIL_LINES = 6
_LINE = 400
_GIST = 200
_TITLE = 120
_LABELS = {
    "user": "Prompt",
    "assistant": "Answer",
    "summary": "Summary of what came before",
    "tool": "Result",
}
_TICKS = re.compile("`+")
_LIKE_HEADER = re.compile(
    r"[\W_]*(?:session[ _-]?id|working[ _-]?directory|cwd|date|agent|repo)\W*[:|]", re.IGNORECASE
)


def document(
    session: Session,
    messages: Iterable[Message],
    *,
    repo: str | None = None,
    mask: Callable[[str], str] = lambda text: text,
) -> Iterator[str]:
    """Yield the document in pieces. Tool calls include their results; thinking is omitted."""
    page = _Page(session, mask)
    yield f"# {_title(page.line(session.title, _TITLE))}\n\n"
    yield f"Session ID: {page.field(session.id)}\n"
    yield f"Working Directory: {page.field(session.cwd or '')}\n"
    yield f"Date: {_date(session.started or session.updated)}\n"
    yield f"Agent: {page.field(session.agent)}\n"
    yield f"Repo: {page.field(repo or '')}\n"
    for message in messages:
        yield from page.message(message)


class _Page:
    """A writer of messages, with a heading per turn and a label where the speaker changes."""

    def __init__(self, session: Session, mask: Callable[[str], str]) -> None:
        self._mask = mask
        self._below = f"{session.cwd}/" if session.cwd else ""
        self._turn: int | None = None
        self._begun = False
        self._label = ""

    def message(self, message: Message) -> Iterator[str]:
        if message.role == "thinking":
            return
        text = self._text(message.text)
        if message.turn is not None and message.turn != self._turn:
            self._turn, self._begun, self._label = message.turn, True, ""
            prompt_line = self.line(text, _TITLE) if message.role == "user" else ""
            yield f"\n## Turn {message.turn}{': ' if prompt_line else ''}{prompt_line}\n"
            if message.time is not None:
                yield f"\nTime: {_date(message.time)}\n"
        if not self._begun and (text or message.tool is not None):
            self._begun = True
            yield "\n## Before the first turn\n"
        if message.tool is not None:
            self._label = ""
            yield from self._tool(message.tool)
        elif text:
            label = _LABELS[message.role]
            if label != self._label:
                yield f"\n**{label}**\n"
            self._label = label
            yield f"\n{_quoted(text)}\n"

    def field(self, text: str) -> str:
        return " ".join(self._text(text).split("\n")).strip()

    def line(self, text: str, longest: int) -> str:
        """Put text on one line of limited length. Mask first: half a secret looks like none."""
        return _cut(" ".join(self._text(text).split()), longest)

    def _text(self, text: str) -> str:
        return self._mask(visible(text)).strip("\n")

    def _tool(self, tool: Tool) -> Iterator[str]:
        gist = self.line(tool.gist.removeprefix(self._below), _GIST)
        parts = [_code(self.line(tool.name, _GIST) or "tool"), _code(gist), _outcome(tool)]
        yield f"\n- {' '.join(part for part in parts if part)}\n"
        output = self._text(tool.output or "").rstrip()
        if output.strip():
            yield f"\n{_fenced(_shortened(output))}\n"


def _title(text: str) -> str:
    """Prefix a title that a lenient reader could take for a header field."""
    return f"Title: {text}" if _LIKE_HEADER.match(text) else text or "Untitled"


def _date(time: datetime | None) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z") if time else ""


def _outcome(tool: Tool) -> str:
    if tool.exit_code is not None:
        return f"exit {tool.exit_code}"
    if tool.output is None:
        return "no result"
    return "failed" if tool.failed else ""


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def _code(text: str) -> str:
    """Format inline code, with a longer run of backticks around it than any inside."""
    if not text:
        return ""
    ticks = "`" * (_longest(text) + 1)
    padding = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{ticks}{padding}{text}{padding}{ticks}"


def _fenced(text: str) -> str:
    """Format a code block that belongs to the list item above it."""
    fence = "`" * max(_longest(text) + 1, 3)
    return "\n".join(f"  {line}".rstrip() for line in (fence, *text.split("\n"), fence))


def _longest(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)


def _shortened(text: str) -> str:
    """Shorten a long output to its start and its end, where errors usually are."""
    lines = text.split("\n")
    omitted = len(lines) - _HEAD_LINES - _TAIL_LINES
    if omitted > 1:
        remark = f"[... {omitted:,} lines left out ...]"
        lines[_HEAD_LINES:-_TAIL_LINES] = [remark]
    return "\n".join(_cut(line, _LINE) for line in lines)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"
