"""Messy Codex threads: several dialects, forks and rewinds over several files."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from tests.property.claude_sessions import texts
from tests.samples.codex import CodexSample
from tests.unit.agents.stores import CWD, START, Codex, as_bytes, uuid


@dataclass
class Thread:
    """One rollout file in the making, and the turns that stand in it."""

    number: int
    sample: CodexSample
    inherited: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    turns: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    segment: str = ""

    @property
    def id(self) -> str:
        return self.sample.id

    @property
    def rollout(self) -> str:
        return self.segment or self.id

    @property
    def base(self) -> str | None:
        return self.sample.lines[0]["payload"].get("history_base", {}).get("thread_id")

    @property
    def all_turns(self) -> list[tuple[str, str]]:
        return [*self.inherited, *self.turns]

    def data(self) -> bytes:
        return as_bytes(self.sample.lines)

    def write(self, codex: Codex, data: bytes | None = None) -> None:
        content = self.data() if data is None else data
        codex.write(self.id, [content], time=self.sample.start, segment=self.segment)

    def take(self, step: "Step") -> None:
        name, value = step
        sample = self.sample
        match name:
            case "turn":
                prompt, files = value
                commands = [("make", 1), ("ls", 0)] if files else []
                id_ = sample.turn(prompt, "done", commands=commands, files=["/w/a"] * files)
                self.turns.append((id_, prompt.strip()))
            case "unfinished":
                id_ = sample.turn(value, "lost")
                del sample.lines[-3:]
                self.turns.append((id_, value.strip()))
            case "aborted":
                id_ = sample.turn(value, "stopped")
                sample.lines[-1]["payload"] = {"type": "turn_aborted", "turn_id": id_}
                self.turns.append((id_, value.strip()))
            case "compaction":
                id_ = sample.uuid()
                content = [{"type": "input_text", "text": "what was said"}]
                item = {"type": "message", "role": "user", "content": content}
                sample.add("event_msg", type="task_started", turn_id=id_)
                sample.add("compacted", message="", replacement_history=[item])
                sample.add("event_msg", type="task_complete", turn_id=id_)
            case "noise":
                sample.add("event_msg", type="thread_name_updated", thread_name="named")
                sample.add("world_state", anything=value)
            case _:
                raise AssertionError(name)


Step = tuple[str, Any]

_steps: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("turn"), st.tuples(texts, st.integers(0, 1))),
    st.tuples(st.just("unfinished"), texts),
    st.tuples(st.just("aborted"), texts),
    st.tuples(st.just("compaction"), st.none()),
    st.tuples(st.just("noise"), st.integers()),
)
_first: st.SearchStrategy[Step] = st.tuples(st.just("turn"), st.tuples(texts, st.just(1)))


@st.composite
def threads(draw: st.DrawFn) -> Thread:
    """A thread of one file."""
    thread = Thread(1, CodexSample(uuid(1), CWD, START))
    for step in (draw(_first), *draw(st.lists(_steps, max_size=5))):
        thread.take(step)
    return thread


def _continued(source: Thread, number: int, turn_count: int, *, rewind: bool) -> Thread:
    """A stub behind some turns of another rollout: a fork, or a segment of the same thread."""
    turn_ids = [id_ for id_, _ in source.turns]
    end = source.sample.ordinal
    if turn_count < len(turn_ids):
        marks = (
            line["ordinal"]
            for line in source.sample.lines
            if line["payload"].get("type") == "task_started"
            and line["payload"]["turn_id"] == turn_ids[turn_count]
        )
        end = next(marks)
    base = {"thread_id": source.rollout, "end_ordinal_exclusive": end, "end_byte_offset": 0}
    meta: dict[str, Any] = {"history_base": base}
    if not rewind:
        meta |= {"forked_from_id": source.id, "forked_from_ordinal_exclusive": end}
    id_ = source.id if rewind else uuid(number)
    sample = CodexSample(id_, CWD, START + timedelta(hours=number), **meta)
    sample.lines[0]["ordinal"] = end
    sample.ordinal = end + 1
    sample._count = 1000 * number
    kept = [*source.inherited, *source.turns[:turn_count]]
    return Thread(number, sample, kept, segment=uuid(100 + number) if rewind else "")


@st.composite
def families(draw: st.DrawFn) -> list[Thread]:
    """A thread, forks of it, forks of forks, and rewinds of any of them."""
    family = [draw(threads())]
    for number in range(2, 2 + draw(st.integers(1, 3))):
        source = family[draw(st.integers(0, len(family) - 1))]
        count = draw(st.integers(0, len(source.turns)))
        child = _continued(source, number, count, rewind=draw(st.booleans()))
        for step in draw(st.lists(_steps, max_size=3)):
            child.take(step)
        family.append(child)
    return family


def legacy(thread: Thread, *, bare: bool) -> bytes:
    """The same thread as an older CLI wrote it, with events or with bare lines."""
    old: list[dict[str, Any]] = []
    for line in thread.sample.lines:
        payload = dict(line["payload"])
        match line["type"], payload.get("type"), payload.get("item", {}).get("type"):
            case "session_meta", _, _:
                del payload["history_mode"]
            case "event_msg", "item_completed", "UserMessage":
                text = payload["item"]["content"][0]["text"]
                payload = {"type": "user_message", "message": text}
            case (
                "event_msg",
                "item_completed" | "task_started" | "task_complete" | "turn_aborted",
                _,
            ):
                continue
            case _:
                pass
        if not bare:
            old.append({"timestamp": line["timestamp"], "type": line["type"], "payload": payload})
        elif line["type"] == "session_meta":
            old.append({"id": payload["id"], "timestamp": line["timestamp"], "git": {}})
        elif line["type"] == "response_item":
            old.append(payload)
    return as_bytes(old)
