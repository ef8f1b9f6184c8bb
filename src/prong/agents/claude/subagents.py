"""Find the sub-agents of a session: separate files, linked to the tool call that launched them."""

from pathlib import Path

import msgspec

from prong.agents import jsonl
from prong.agents.claude.folders import SUBAGENT
from prong.agents.claude.transcript import LAUNCHERS, ClaudeTranscript
from prong.files.regular import read_regular
from prong.model.sessions import SubAgent


class _Meta(msgspec.Struct, rename="camel"):
    agent_type: str | None = None
    tool_use_id: str | None = None


_meta = msgspec.json.Decoder(_Meta).decode


def find(session_file: Path, transcript: ClaudeTranscript) -> tuple[SubAgent, ...]:
    """Find files in `<id>/subagents/`, and beside the session file, as in old CLIs."""
    kinds: dict[str, str | None] = {}
    calls: dict[str, str] = {}
    for node in transcript.nodes.values():
        for call in node.calls:
            if call.name in LAUNCHERS:
                kinds[call.id] = call.what
        for result in node.results:
            if result.agent:
                calls[result.agent] = result.id
    agents: dict[str, SubAgent] = {}
    folder = session_file.with_suffix("") / "subagents"
    for path in sorted(folder.glob(f"{SUBAGENT}*.jsonl")):
        id_ = path.stem.removeprefix(SUBAGENT)
        call_id = calls.get(id_)
        kind = kinds.get(call_id or "")
        if call_id is None:
            # No result names it, perhaps because it is still running.
            meta = _read_meta(path.with_suffix(".meta.json"))
            call_id, kind = meta.tool_use_id, meta.agent_type
        agents[id_] = SubAgent(id_, path, kind, call_id)
    for id_, call_id in calls.items():
        sibling = session_file.with_name(f"{SUBAGENT}{id_}.jsonl")
        if id_ not in agents and sibling.is_file():
            agents[id_] = SubAgent(id_, sibling, kinds.get(call_id), call_id)
    return tuple(agents.values())


def _read_meta(path: Path) -> _Meta:
    try:
        return jsonl.decoded(_meta, read_regular(path)) or _Meta()
    except OSError:
        return _Meta()
