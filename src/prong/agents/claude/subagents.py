"""The sub-agents of a session: files of their own, linked to the tool call that launched them."""

from pathlib import Path

import msgspec

from prong.agents import jsonl
from prong.agents.claude.transcript import Transcript
from prong.model import SubAgent

PREFIX = "agent-"


class _Meta(msgspec.Struct, rename="camel"):
    agent_type: str | None = None
    tool_use_id: str | None = None


_meta = msgspec.json.Decoder(_Meta).decode


def find(session_file: Path, transcript: Transcript) -> tuple[SubAgent, ...]:
    """New CLIs keep them in `<id>/subagents/`, older ones beside the session file."""
    calls = {
        result.agent: result.id
        for node in transcript.nodes.values()
        for result in node.results
        if result.agent
    }
    found: dict[str, SubAgent] = {}
    folder = session_file.with_suffix("") / "subagents"
    for path in sorted(folder.glob(f"{PREFIX}*.jsonl")):
        id_ = path.stem.removeprefix(PREFIX)
        meta = _read_meta(path.with_suffix(".meta.json"))
        found[id_] = SubAgent(id_, path, meta.agent_type, meta.tool_use_id or calls.get(id_))
    for id_, call in calls.items():
        beside = session_file.with_name(f"{PREFIX}{id_}.jsonl")
        if id_ not in found and beside.is_file():
            found[id_] = SubAgent(id_, beside, None, call)
    return tuple(found.values())


def _read_meta(path: Path) -> _Meta:
    try:
        return jsonl.decoded(_meta, path.read_bytes()) or _Meta()
    except OSError:
        return _Meta()
