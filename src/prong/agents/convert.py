"""Convert a conversation to plain turns that any other agent can store.

Prompts and answers stay messages, with their images. Tool calls become text that says who ran
what, since agents do not share tools. An image that a tool returned follows that text as a user
message, because answers cannot contain images. Thinking is dropped: it is signed for one model.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, cast

from prong.agents.media import IMAGE
from prong.errors import Corrupt, UsageError
from prong.files.publication import Publication, writer
from prong.model.record import Record, field, replace
from prong.model.sessions import Media, Message, Session, Tool

NO_PROMPT = "[no prompt was recorded]"

_INTERRUPTED = "[Request interrupted by user"
"""Claude Code records an interruption as user text."""
_INSTANT = timedelta(milliseconds=1)
_SHORT = 200
_BACKTICKS = re.compile(r"`{3,}")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_SHELL_OUTPUT = re.compile(r"\s*<((?:bash|local-command)-std(?:out|err))>(.*?)</\1>\s*", re.DOTALL)
"""Claude Code records the output of a command that the person ran as user text."""

Speaker = Literal["user", "assistant", "summary", "interrupt", "shown"]
Part = str | Media
"""Text, or an image that the other agent accepts."""


class Piece(Record, frozen=True):
    """A message. An `interrupt` asks nothing; `shown` holds images that a tool returned.

    Both are sent as the person's.
    """

    role: Speaker
    parts: tuple[Part, ...]
    time: datetime

    @property
    def text(self) -> str:
        return _text(self.parts)


def _text(parts: Iterable[Part]) -> str:
    return "\n".join(part if isinstance(part, str) else IMAGE for part in parts)


class PlainTurn(Record, frozen=True):
    """A turn without tool calls."""

    pieces: tuple[Piece, ...]
    """The prompt first, or a summary whose turns are gone."""
    context: tuple[Piece, ...] = ()
    """Messages before the first prompt."""

    @property
    def is_answered(self) -> bool:
        """False when it was interrupted or the prompt has no answer."""
        roles = [piece.role for piece in self.pieces]
        return roles[-1] != "interrupt" and ("assistant" in roles or roles[0] == "summary")


def plain_turns(messages: Iterable[Message], agent: str) -> Iterator[PlainTurn]:
    """Stream the messages of an agent's session as plain turns, in order."""
    return _timed(_joined(_turns(messages, agent)))


# -- turns -------------------------------------------------------------------------------------


class _Piece(Record, frozen=True):
    role: Speaker
    parts: tuple[Part, ...]
    time: datetime | None


class _Turn(Record):
    pieces: list[_Piece]
    context: list[_Piece] = field(default_factory=list[_Piece])

    def __post_init__(self) -> None:
        if self.pieces[0].role not in ("user", "summary"):
            self.pieces.insert(0, _Piece("user", (NO_PROMPT,), self.pieces[0].time))


def _turns(messages: Iterable[Message], agent: str) -> Iterator[_Turn]:
    """Split the messages into turns: by turn number, or at prompts where they have none."""
    seen: set[int | None] = {None}
    before: list[_Piece] = []
    current: _Turn | None = None
    for position, (number, group) in enumerate(groupby(messages, lambda message: message.turn)):
        pieces = list(_in_words(list(group), agent))
        if position == 0 and number is None and all(_is_persons(piece) for piece in pieces):
            # Commands before the first prompt, unless no message has a number.
            before = pieces
            continue
        parts = _cut(pieces, numbered=number is not None)
        for part in parts:
            is_rest = number in seen or part is not parts[-1]
            if current and _goes_on(current, part[0], is_rest=is_rest):
                current.pieces.extend(part)
                continue
            if current:
                yield current
            current = _Turn(part, before)
            before = []
        seen.add(number)
    if current:
        yield current
    yield from (_Turn(part) for part in _cut(before, numbered=False))


def _is_persons(piece: _Piece) -> bool:
    return piece.role in ("user", "interrupt")


def _goes_on(turn: _Turn, piece: _Piece, *, is_rest: bool) -> bool:
    """Return whether the part that begins with this piece continues the previous turn."""
    if piece.role in ("user", "summary"):
        return piece.role == "summary"
    # An answer whose prompt was compacted away follows the summary.
    return is_rest or turn.pieces[0].role == "summary"


def _cut(pieces: Iterable[_Piece], *, numbered: bool) -> list[list[_Piece]]:
    """Split before each prompt. A numbered turn has one prompt at most, at its beginning.

    Only a summary may precede it. If an answer comes first, the prompt was compacted away, and
    what the person says later is no prompt.
    """
    parts: list[list[_Piece]] = []
    asked = begun = False
    for piece in pieces:
        opens = piece.role == "user" and not (numbered and begun)
        if opens or not parts:
            parts.append([])
        parts[-1].append(piece)
        asked = asked or opens
        begun = asked if piece.role == "summary" else True
    return parts


def _joined(turns: Iterable[_Turn]) -> Iterator[_Turn]:
    """Join the pieces of each answer."""
    for turn in turns:
        pieces: list[_Piece] = []
        for role, run in groupby(turn.pieces, lambda piece: piece.role):
            run_pieces = list(run)
            if role == "assistant":
                text = "\n\n".join(_text(piece.parts) for piece in run_pieces)
                times = (piece.time for piece in reversed(run_pieces) if piece.time)
                run_pieces = [_Piece(role, (text,), next(times, None))]
            pieces.extend(run_pieces)
        yield _Turn(pieces, turn.context)


def _timed(turns: Iterable[_Turn]) -> Iterator[PlainTurn]:
    """Make times monotonic; a piece without a time gets that of the piece before."""
    now: datetime | None = None
    for turn in turns:
        if now is None:
            times = (piece.time for piece in (*turn.context, *turn.pieces) if piece.time)
            now = next(times, datetime.now(UTC))
        timed: list[Piece] = []
        for piece in (*turn.context, *turn.pieces):
            if timed and "assistant" not in (piece.role, timed[-1].role):
                # Texts with equal times would be read as one prompt.
                now = _later(now)
            now = max(now, piece.time or now)
            timed.append(Piece(piece.role, piece.parts, now))
        context = len(turn.context)
        yield PlainTurn(tuple(timed[context:]), tuple(timed[:context]))


def _later(time: datetime) -> datetime:
    with suppress(OverflowError):  # the largest datetime
        time += _INSTANT
    return time


# -- text --------------------------------------------------------------------------------------


def _in_words(turn: list[Message], agent: str) -> Iterator[_Piece]:
    """Convert the messages of one turn, each tool call and its result to one text."""
    pending: _Piece | None = None
    for message in _paired(turn):
        if message.role == "thinking" or not (message.text.strip() or message.tool):
            continue
        piece = _Piece(_speaker(message), _parts(message, agent), message.time)
        if pending and message.turn is not None and _is_one_line(pending, piece):
            pending = replace(pending, parts=_in_lines((*pending.parts, *piece.parts)))
            continue
        if pending:
            yield pending
        pending = piece
        images = [media for media in message.media if media.is_portable]
        if message.tool and images:
            yield pending
            pending = _Piece("shown", (_shown_by(message.tool, agent), *images), message.time)
    if pending:
        yield pending


def _paired(turn: list[Message]) -> Iterator[Message]:
    """Merge each tool result into its call."""
    results: dict[str, list[Message]] = {}
    for message in turn:
        if message.role == "tool" and message.tool:
            results.setdefault(message.tool.id, []).append(message)
    merged: set[int] = set()
    for message in turn:
        call = message.tool
        pending = results.get(call.id, []) if call else []
        if id(message) in merged:
            continue
        if call and message.role == "assistant" and call.output is None and pending:
            result = pending.pop(0)
            merged.add(id(result))
            yield replace(message, tool=_with_result(call, result.tool), media=result.media)
            continue
        if message.role == "tool":
            # The call is missing: no later call may claim this result.
            pending[:] = [other for other in pending if other is not message]
        yield message


def _with_result(call: Tool, result: Tool | None) -> Tool:
    if result is None:
        return call
    return replace(call, output=result.output, failed=result.failed, exit_code=result.exit_code)


def _parts(message: Message, agent: str) -> tuple[Part, ...]:
    if message.tool:
        texts = (message.text, tool_text(message.tool, agent))
        return ("\n\n".join(text for text in texts if text),)
    if any(media.is_portable for media in message.media):
        return message.media
    return (_labelled(message, message.text, agent),)


def _in_lines(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Join adjacent texts."""
    joined: list[Part] = []
    for part in parts:
        if joined and isinstance(part, str) and isinstance(joined[-1], str):
            joined[-1] = f"{joined[-1]}\n{part}"
        else:
            joined.append(part)
    return tuple(joined)


def _shown_by(tool: Tool, agent: str) -> str:
    return f"[The output of {tool.name or 'a tool'} that {agent} ran]"


def _speaker(message: Message) -> Speaker:
    match message.role:
        case "user" if message.text.startswith(_INTERRUPTED):
            return "interrupt"
        case "user" | "summary":
            return message.role
        case _:
            return "assistant"


def _is_one_line(before: _Piece, piece: _Piece) -> bool:
    """Return whether two pieces are blocks of one prompt, which are written at one time."""
    return before.role == piece.role == "user" and before.time == piece.time is not None


def _labelled(message: Message, text: str, agent: str) -> str:
    if message.role == "summary":
        return f"[Summary of the conversation up to this point, written by {agent}]\n\n{text}"
    return _shell_output(text) if message.role == "user" else text


def _shell_output(text: str) -> str:
    """Strip the agent's tags from the output of a command that the person ran."""
    printed: list[str] = []
    end = 0
    while match := _SHELL_OUTPUT.match(text, end):
        printed.append(_ESCAPES.sub("", match[2]))
        end = match.end()
    if not printed or end < len(text):
        return text
    blocks = [fenced(output) for output in printed if output.strip()]
    return (
        "\n".join(["Output of the command:", *blocks]) if blocks else "The command had no output."
    )


def tool_text(tool: Tool, agent: str) -> str:
    """Render a tool call and its result as text that says who ran it."""
    name = tool.name or "a tool"
    gist = tool.gist if len(tool.gist) <= _SHORT and "\n" not in tool.gist else ""
    parts = [f"[{agent} ran {name}: {gist}]" if gist else f"[{agent} ran {name}]"]
    if not _is_told_by(gist, tool.input):
        parts += ["Arguments:", fenced(tool.input)]
    if tool.output is None:
        parts.append("No result was recorded.")
        return "\n".join(parts)
    outcome = "Failed" if tool.failed else "Done"
    if tool.exit_code is not None:
        outcome = f"Exit code {tool.exit_code}"
    if tool.output.strip():
        parts += [f"{outcome}, output:", fenced(tool.output)]
    else:
        parts.append(f"{outcome}, no output.")
    return "\n".join(parts)


def _is_told_by(gist: str, given: str) -> bool:
    """Return whether the gist already says everything in the arguments."""
    if not given or given == gist:
        return True
    try:
        arguments: Any = json.loads(given)
    except (ValueError, RecursionError):
        return False
    if not arguments:
        return True
    fields = cast(dict[str, Any], arguments) if isinstance(arguments, dict) else {}
    return bool(gist) and len(fields) == 1 and gist in fields.values()


def fenced(text: str) -> str:
    """Fence the text with more backticks than any run in it."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text.strip(chr(10))}\n{fence}"


# -- files -------------------------------------------------------------------------------------


def timestamp(time: datetime) -> str:
    """Format a time as agents do: UTC with milliseconds."""
    utc = time.astimezone(UTC).replace(tzinfo=None)
    return f"{utc.isoformat(timespec='milliseconds')}Z"


def write(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Write compact JSON lines; lone surrogates, which UTF-8 cannot encode, become `?`."""
    with writer(path) as file:
        for line in lines:
            text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
            file.write(text.encode("utf-8", "replace") + b"\n")


def publish(
    staged: Path,
    target: Path,
    turns: int,
    publication: Publication,
    session_at: Callable[[Path], Session | None],
) -> Session:
    """Read the staged file back, and publish it if it has all turns."""
    session = session_at(staged)
    if session is None or session.turn_count != turns:
        raise Corrupt(
            "the converted session does not match its source, so it was discarded",
            hint="please report this; to fork without a conversion: --method seed",
            expected=turns,
            found=session.turn_count if session else 0,
        )
    publication.publish(target)
    return replace(session, file=str(target))


def nothing_to_convert() -> UsageError:
    return UsageError(
        "the session has no messages up to this turn: nothing to convert",
        hint="start a new session of the other agent instead",
    )
