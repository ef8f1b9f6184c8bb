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
from typing import Any, Literal

from prong.agents.common import as_dict
from prong.agents.media import IMAGE
from prong.errors import Corrupt, UsageError
from prong.files.publication import Publication, writer
from prong.model.record import Record, field, replace
from prong.model.sessions import Media, Message, Session, Tool

NO_PROMPT = "[no prompt was recorded]"

_INTERRUPTED = "[Request interrupted by user"
"""Claude Code records an interruption as user text."""
_NO_TIME = datetime.min.replace(tzinfo=UTC)
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
    time: datetime = _NO_TIME

    @property
    def text(self) -> str:
        return "\n".join(part if isinstance(part, str) else IMAGE for part in self.parts)


class PlainTurn(Record):
    """A turn without tool calls."""

    pieces: list[Piece]
    """The prompt first, or a summary whose turns are gone."""
    context: list[Piece] = field(default_factory=list[Piece])
    """Messages before the first prompt."""

    def __post_init__(self) -> None:
        if self.pieces[0].role not in ("user", "summary"):
            self.pieces.insert(0, Piece("user", (NO_PROMPT,), self.pieces[0].time))

    @property
    def is_answered(self) -> bool:
        """False when it was interrupted or the prompt has no answer."""
        roles = [piece.role for piece in self.pieces]
        return roles[-1] != "interrupt" and ("assistant" in roles or roles[0] == "summary")


def plain_turns(messages: Iterable[Message], agent: str) -> Iterator[PlainTurn]:
    """Stream the messages of an agent's session as plain turns, in order."""
    now: datetime | None = None
    for turn in _turns(messages, agent):
        turn.pieces = list(_joined(turn.pieces))
        pieces = (*turn.context, *turn.pieces)
        if now is None:
            times = (piece.time for piece in pieces if piece.time is not _NO_TIME)
            now = next(times, datetime.now(UTC))
        timed = list(_timed(pieces, now))
        now = timed[-1].time
        context = len(turn.context)
        yield PlainTurn(timed[context:], timed[:context])


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Join the pieces of each answer."""
    for role, run in groupby(pieces, lambda piece: piece.role):
        if role != "assistant":
            yield from run
            continue
        answer = list(run)
        times = (piece.time for piece in reversed(answer) if piece.time is not _NO_TIME)
        text = "\n\n".join(piece.text for piece in answer)
        yield Piece(role, (text,), next(times, _NO_TIME))


def _timed(pieces: Iterable[Piece], now: datetime) -> Iterator[Piece]:
    """Make times monotonic; a piece without a time gets that of the piece before."""
    previous: Speaker = "assistant"
    for piece in pieces:
        if "assistant" not in (piece.role, previous):
            # Texts with equal times would be read as one prompt.
            with suppress(OverflowError):  # the largest datetime
                now += _INSTANT
        now = max(now, piece.time)
        previous = piece.role
        yield replace(piece, time=now)


# -- turns -------------------------------------------------------------------------------------


def _turns(messages: Iterable[Message], agent: str) -> Iterator[PlainTurn]:
    """Split the messages into turns: by turn number, or at prompts where they have none."""
    seen: set[int | None] = {None}
    before: list[Piece] = []
    current: PlainTurn | None = None
    for position, (number, group) in enumerate(groupby(messages, lambda message: message.turn)):
        pieces = list(_in_words(list(group), agent))
        is_persons = all(piece.role in ("user", "interrupt") for piece in pieces)
        if position == 0 and number is None and is_persons:
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
            current = PlainTurn(part, before)
            before = []
        seen.add(number)
    if current:
        yield current
    yield from (PlainTurn(part) for part in _cut(before, numbered=False))


def _goes_on(turn: PlainTurn, piece: Piece, *, is_rest: bool) -> bool:
    """Return whether the part that begins with this piece continues the previous turn."""
    if piece.role in ("user", "summary"):
        return piece.role == "summary"
    # An answer whose prompt was compacted away follows the summary.
    return is_rest or turn.pieces[0].role == "summary"


def _cut(pieces: Iterable[Piece], *, numbered: bool) -> list[list[Piece]]:
    """Split before each prompt. A numbered turn has one prompt at most, at its beginning.

    Only a summary may precede it. If an answer comes first, the prompt was compacted away, and
    what the person says later is no prompt.
    """
    parts: list[list[Piece]] = []
    asked = begun = False
    for piece in pieces:
        opens = piece.role == "user" and not (numbered and begun)
        if opens or not parts:
            parts.append([])
        parts[-1].append(piece)
        asked = asked or opens
        begun = asked if piece.role == "summary" else True
    return parts


# -- text --------------------------------------------------------------------------------------


def _in_words(turn: list[Message], agent: str) -> Iterator[Piece]:
    """Convert the messages of one turn, each tool call and its result to one text."""
    pending: Piece | None = None
    for message in _paired(turn):
        if message.role == "thinking" or not (message.text.strip() or message.tool):
            continue
        piece = Piece(_speaker(message), _parts(message, agent), message.time or _NO_TIME)
        if pending and message.turn is not None and _is_one_line(pending, piece):
            pending = replace(pending, parts=_in_lines((*pending.parts, *piece.parts)))
            continue
        if pending:
            yield pending
        pending = piece
        images = [media for media in message.media if media.is_portable]
        if message.tool and images:
            yield pending
            label = f"[The output of {message.tool.name or 'a tool'} that {agent} ran]"
            pending = Piece("shown", (label, *images), message.time or _NO_TIME)
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
            if told := result.tool:
                output, failed, code = told.output, told.failed, told.exit_code
                call = replace(call, output=output, failed=failed, exit_code=code)
            yield replace(message, tool=call, media=result.media)
            continue
        if message.role == "tool":
            # The call is missing: no later call may claim this result.
            pending[:] = [other for other in pending if other is not message]
        yield message


def _parts(message: Message, agent: str) -> tuple[Part, ...]:
    if message.tool:
        texts = (message.text, tool_text(message.tool, agent))
        return ("\n\n".join(text for text in texts if text),)
    if any(media.is_portable for media in message.media):
        return message.media
    if message.role == "summary":
        label = f"[Summary of the conversation up to this point, written by {agent}]"
        return (f"{label}\n\n{message.text}",)
    return (_shell_output(message.text) if message.role == "user" else message.text,)


def _in_lines(parts: Iterable[Part]) -> tuple[Part, ...]:
    joined: list[Part] = []
    for part in parts:
        if joined and isinstance(part, str) and isinstance(joined[-1], str):
            joined[-1] = f"{joined[-1]}\n{part}"
        else:
            joined.append(part)
    return tuple(joined)


def _speaker(message: Message) -> Speaker:
    match message.role:
        case "user" if message.text.startswith(_INTERRUPTED):
            return "interrupt"
        case "user" | "summary":
            return message.role
        case _:
            return "assistant"


def _is_one_line(before: Piece, piece: Piece) -> bool:
    """Return whether two pieces are blocks of one prompt, which are written at one time."""
    return before.role == piece.role == "user" and before.time == piece.time is not _NO_TIME


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
    fields = as_dict(arguments)
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
