"""What a scan remembers of one Claude session file."""

import hashlib
from collections.abc import Iterator

import msgspec
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
    turns: int
    keys: bytes
    """The keys of the openers, one after the other: what `keys_in` gives."""
    ends: bytes
    """Keys of the lines at which the session once ended: a title elsewhere may name one."""
    packed_openers: bytes
    """Looked at only when another file shares a key."""
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

    def openers(self) -> list[Opener]:
        return _decode_openers(self.packed_openers)


_decode_openers = msgspec.msgpack.Decoder(list[Opener]).decode

KEY = 8


def keys_in(keys: bytes) -> Iterator[bytes]:
    """The keys that stand one after the other in some bytes."""
    return (keys[at : at + KEY] for at in range(0, len(keys), KEY))


def key_of(uuid: str) -> bytes:
    """Half a uuid, which is enough to tell lines apart."""
    try:
        key = bytes.fromhex(uuid[:18].replace("-", ""))
    except ValueError:
        key = b""
    # Not a uuid: then any eight bytes that depend on it alone.
    return key if len(key) == KEY else hashlib.sha256(uuid.encode()).digest()[:KEY]


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
        turns=len(openers),
        keys=b"".join(key_of(node.uuid) for node in openers),
        ends=b"".join(sorted(key_of(end) for end in ends)),
        packed_openers=msgspec.msgpack.encode(
            [
                Opener(node.uuid, node.prompt.id if node.prompt else None, node.time)
                for node in openers
            ]
        ),
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
