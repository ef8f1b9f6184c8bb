"""MCP tools to read sessions: read_session and list_turns."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from prong.mcp import names
from prong.mcp.call import Call
from prong.mcp.schemas import Arguments, shaped
from prong.mcp.shapes import MessageText, SessionText, TurnFacts, TurnList
from prong.mcp.tool import Effect, tool
from prong.mcp.tools_search import session_facts
from prong.model.sessions import Turn as SessionTurn

Session = Annotated[
    str,
    Meta(description="Session (claude:60309e1e, or its id) or worker name. @12 is a turn."),
]
Turn = Annotated[int, Meta(ge=1)]
_PROMPT = 500
"""Maximum characters of a prompt in a list of turns."""
_FILES = 50


class ReadSession(Arguments, frozen=True):
    session: Session
    from_turn: Annotated[Turn | None, Meta(description="First turn.")] = None
    to_turn: Annotated[Turn | None, Meta(description="Last turn.")] = None
    page: Annotated[str | None, Meta(description="The `next` of the previous page.")] = None
    max_tokens: Annotated[
        int, Meta(ge=200, le=50_000, description="Approximate tokens per page.")
    ] = 8_000
    tool_output: Annotated[bool, Meta(description="Include tool output.")] = False
    thinking: Annotated[bool, Meta(description="Include thinking.")] = False


class ListTurns(Arguments, frozen=True):
    session: Session
    from_turn: Annotated[int, Meta(ge=1, description="First turn.")] = 1
    limit: Annotated[int, Meta(ge=1, le=200, description="Maximum number.")] = 50


@tool(
    "Read a session",
    "Read the transcript of a session in pages of about max_tokens. Secrets are masked. For "
    "the next page, call again with the same arguments and `next` as `page`.",
    Effect.READS,
)
def read_session(call: Call, given: ReadSession) -> SessionText:
    from prong.errors import UsageError
    from prong.model.record import asdict
    from prong.redaction.visible import safe
    from prong.session.transcript import PageRequest
    from prong.views import json

    name = names.session(given.session)
    if given.page is not None and not (given.page.isascii() and given.page.isdigit()):
        raise UsageError(
            f"{safe(given.page)[:100]!r} is not a page", hint="the `next` of the previous page"
        )
    request = PageRequest(
        first=given.from_turn,
        last=given.to_turn,
        start=int(given.page[:9]) if given.page else 0,
        tokens=given.max_tokens,
        output=given.tool_output,
        thinking=given.thinking,
    )
    page = call.app.sessions.page(name, request)
    return SessionText(
        session=session_facts(json.session(page.session)),
        messages=[shaped(MessageText, asdict(message)) for message in page.messages],
        tokens=page.tokens,
        next=str(page.next) if page.next is not None else None,
    )


@tool(
    "List the turns of a session",
    "List the turns of a session: prompt, time, files, and whether the code was captured. "
    "Fork one with fork_session.",
    Effect.READS,
)
def list_turns(call: Call, given: ListTurns) -> TurnList:
    from prong.views import json

    sessions = call.app.sessions
    session = sessions.get(names.session(given.session))
    conversation = call.app.code.with_code(sessions.conversation(session))
    turns = conversation.turns
    shown = turns[given.from_turn - 1 : given.from_turn - 1 + given.limit]
    after = given.from_turn + len(shown)
    return TurnList(
        session=session_facts(json.session(conversation.session)),
        turns=[_turn_facts(turn) for turn in shown],
        total=len(turns),
        next_turn=after if after <= len(turns) else None,
        abandoned=len(conversation.abandoned),
        compactions=list(conversation.compactions),
    )


def _turn_facts(turn: SessionTurn) -> TurnFacts:
    from prong.code import gaps as code_gaps
    from prong.redaction.visible import safe
    from prong.views import json

    view = json.turn(turn)
    # Masked before it is cut: half a key would not be recognized.
    prompt = safe(view["prompt"])
    gaps = code_gaps.summary(turn.gaps)
    fields = {
        "prompt": prompt if len(prompt) <= _PROMPT else f"{prompt[:_PROMPT]} ...",
        "files": view["files"][:_FILES],
        "code_gaps": safe(gaps) if gaps else None,
    }
    return shaped(TurnFacts, {**view, **fields})
