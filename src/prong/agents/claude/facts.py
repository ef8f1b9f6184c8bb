"""What a scan remembers of one Claude session file."""

from msgspec import Struct

from prong.agents.claude.prompts import is_program
from prong.agents.claude.transcript import Transcript
from prong.agents.claude.tree import Tree
from prong.agents.claude.turns import is_opener, spans
from prong.agents.texts import first_line
from prong.model import TurnKind


class Opener(Struct, array_like=True, gc=False):
    """The prompt that opens a turn. Copies of a session carry the same uuid."""

    uuid: str
    prompt_id: str | None
    time: str | None


class Facts(Struct, array_like=True, gc=False):
    conversation: bool
    title: str | None
    first_prompt: str
    summaries: dict[str, str]
    ends: list[str]
    """Lines at which the session once ended: a title in another file may name one of them."""
    openers: list[Opener]
    forked_from: str | None
    forked: int
    cwds: list[str]
    branch: str | None
    model: str | None
    entrypoint: str | None
    headless: bool
    started: str | None
    updated: str | None
    session_id: str | None
    """The id that most lines carry. The file name is the identity; this is for files renamed."""
    bad: list[tuple[int, str]]


def summarise(transcript: Transcript) -> Facts:
    tree = Tree(transcript)
    openers = [span.opener for span in spans(tree.history, transcript) if span.opener]
    prompts = [opener.prompt for opener in openers if opener.prompt]
    first = next(
        (prompt for prompt in prompts if prompt.kind in (TurnKind.HUMAN, TurnKind.SDK)),
        prompts[0] if prompts else None,
    )
    copied = set(transcript.forked_uuids)
    ends = {opener.parent for opener in openers if opener.parent}
    if tree.leaf:
        ends.add(tree.leaf.uuid)
    ids = transcript.session_ids
    return Facts(
        conversation=_is_conversation(transcript),
        title=transcript.custom_title or transcript.ai_title,
        first_prompt=first_line(first.text) if first else "",
        summaries=transcript.summaries,
        ends=sorted(ends),
        openers=[
            Opener(node.uuid, node.prompt.id if node.prompt else None, node.time)
            for node in openers
        ],
        forked_from=transcript.forked_from,
        forked=sum(opener.uuid in copied for opener in openers),
        cwds=transcript.cwds,
        branch=transcript.branch,
        model=transcript.model,
        entrypoint=transcript.entrypoints[-1] if transcript.entrypoints else None,
        headless=bool(transcript.entrypoints) and all(map(is_program, transcript.entrypoints)),
        started=transcript.started,
        updated=transcript.updated,
        session_id=max(ids, key=ids.__getitem__) if ids else None,
        bad=transcript.bad,
    )


def _is_conversation(transcript: Transcript) -> bool:
    """True when somebody asked something or the model said something; a lone /exit is neither."""
    return any(
        (node.type == "assistant" and not node.synthetic) or is_opener(node, transcript)
        for node in transcript.nodes.values()
        if not node.sidechain
    )
