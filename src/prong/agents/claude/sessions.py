"""Read a session from its files, and complete the facts of files by what others record."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from prong.agents import jsonl
from prong.agents.claude import jobs, lineage, transcript
from prong.agents.claude.facts import ClaudeFacts, key_of, summarise
from prong.agents.claude.folders import SUBAGENT
from prong.agents.claude.jobs import ClaudeJob
from prong.agents.claude.lineage import Parent
from prong.agents.claude.transcript import LAUNCHERS, ClaudeTranscript
from prong.agents.claude.tree import Tree
from prong.agents.common import is_uuid
from prong.agents.scan import FileReader, no_conversation
from prong.errors import Corrupt
from prong.files.regular import read_regular
from prong.model.record import replace
from prong.model.sessions import Session, SessionRef, Skipped, SubAgent


class ClaudeReader(FileReader[ClaudeTranscript, ClaudeFacts]):
    state = ClaudeTranscript
    facts = ClaudeFacts

    def read(self, file: BinaryIO, previous: ClaudeTranscript | None = None) -> ClaudeTranscript:
        return transcript.read(file, previous=previous)

    def summarise(self, state: ClaudeTranscript, path: str, stat: os.stat_result) -> ClaudeFacts:
        return summarise(Tree(state), path, stat)


def assemble(
    files: Mapping[str, ClaudeFacts], background: Iterable[ClaudeJob]
) -> tuple[list[Session], list[Skipped]]:
    """Return the sessions in files, and the files without one."""
    conversations = [facts for facts in files.values() if facts.conversation]
    skipped = [no_conversation(path) for path, facts in files.items() if not facts.conversation]
    sessions = {facts.session.id: facts for facts in conversations}
    parents = lineage.parents(sessions, jobs.forks(background))
    titles = _titles_by_folder(files.values())
    return [_finished(facts, parents, titles) for facts in conversations], skipped


def session_at(path: Path) -> Session | None:
    with jsonl.open_named(path) as file:
        content = read(file, path)
        stat = os.fstat(file.fileno())
    if not content.nodes:
        if content.bad or not stat.st_size:
            raise Corrupt(f"nothing in {path} can be read", path=str(path))
        return None
    # The file name is the id, unless somebody renamed the file to something else.
    ids = content.session_ids
    recorded = max(ids, key=ids.__getitem__) if ids and not is_uuid(path.stem) else None
    return session_of(Tree(content), path, stat, recorded)


def session_of(tree: Tree, path: Path, stat: os.stat_result, id_: str | None = None) -> Session:
    """Build a session from its own file, without the rest of the store."""
    facts = summarise(tree, str(path), stat, id_=id_ or path.stem)
    parents = lineage.parents({facts.session.id: facts})
    return _finished(facts, parents, _titles_by_folder([facts]))


def read(file: BinaryIO, path: Path) -> ClaudeTranscript:
    content = transcript.read(file)
    if path.name.startswith(SUBAGENT):
        # A sub-agent's file marks all lines as sidechain, but here they are the conversation.
        for node in content.nodes.values():
            node.sidechain = False
    return content


Titles = dict[str, dict[int, str]]
"""Project folder -> key of the line at which a session ended -> title."""


def _titles_by_folder(files: Iterable[ClaudeFacts]) -> Titles:
    """Collect titles from `summary` lines, which may be in another file of the project."""
    titles: Titles = {}
    for facts in files:
        for leaf, title in facts.summaries.items():
            titles.setdefault(os.path.dirname(facts.session.file), {})[key_of(leaf)] = title
    return titles


def _finished(facts: ClaudeFacts, parents: Mapping[str, Parent], titles: Titles) -> Session:
    """Add the parent and title that are recorded in other files."""
    session = facts.session
    if parent := parents.get(session.id):
        ref = SessionRef(session.agent, parent.id)
        session = replace(session, parent=ref, inherited=parent.inherited, forked_at=None)
    if titles and not facts.titled:
        folder_titles = titles.get(os.path.dirname(session.file), {})
        # The title of the latest end: earlier ends may have older titles.
        ends = (end for end in reversed(facts.ends) if end in folder_titles)
        title = folder_titles.get(next(ends, -1))
        session = replace(session, title=title) if title else session
    return session


class _Meta(msgspec.Struct, rename="camel"):
    agent_type: str | None = None
    tool_use_id: str | None = None


_meta = msgspec.json.Decoder(_Meta).decode


def subagents(session_file: Path, transcript: ClaudeTranscript) -> tuple[SubAgent, ...]:
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
            with suppress(OSError):
                meta = jsonl.decoded(_meta, read_regular(path.with_suffix(".meta.json"))) or _Meta()
                call_id, kind = meta.tool_use_id, meta.agent_type
        agents[id_] = SubAgent(id_, path, kind, call_id)
    for id_, call_id in calls.items():
        sibling = session_file.with_name(f"{SUBAGENT}{id_}.jsonl")
        if id_ not in agents and sibling.is_file():
            agents[id_] = SubAgent(id_, sibling, kinds.get(call_id), call_id)
    return tuple(agents.values())
