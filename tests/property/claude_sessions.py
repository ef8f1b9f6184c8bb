"""Messy Claude sessions, and what is known of them without reading them back."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tests.samples.claude import ClaudeSample
from tests.unit.agents.stores import CWD, START, uuid

texts = st.text(
    st.one_of(
        st.sampled_from(" \t\n\r\u2028\u2029\u0085\x0b\x00\\\"'/{}[]:,é日🎉\u200b\ufeff"),
        st.characters(exclude_categories=["Cs"], exclude_characters="<"),
    ),
    max_size=30,
).map(lambda text: f"ask {text}")
"""No `<`: what looks like a tag is taken out of a prompt."""


@dataclass
class Story:
    """A session in the making, and which turns lead to each of its lines."""

    sample: ClaudeSample
    old: bool
    """Written by a CLI that did not mark the opener of a turn."""
    turns: list[str] = field(default_factory=list[str])
    at: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    prompts: dict[str, str] = field(default_factory=dict[str, str])
    _seen: int = 0

    def note(self) -> None:
        """Remember for each new line the turns that lead to it."""
        for line in self.sample.lines[self._seen :]:
            if self.old:
                line.pop("turnPosition", None)
                if "version" in line:
                    line["version"] = "2.0.76"
            if "uuid" in line and not line["isSidechain"]:
                self.at[line["uuid"]] = self.turns
        self._seen = len(self.sample.lines)

    def prompt(self, text: str) -> None:
        id_ = self.sample.prompt(text)
        self.prompts[id_] = text.strip()
        self.turns = [*self.turns, id_]
        self.note()

    def answer(self, text: str) -> None:
        self.sample.answer(text, tokens=len(text))
        self.note()

    def tools(self, count: int, *, failed: bool) -> None:
        calls = [
            ("Bash", {"command": "make"}, "Exit code 1"),
            ("Edit", {"file_path": "/w/a.py"}, "ok"),
            ("Agent", {"prompt": "look"}, "seen"),
        ]
        self.sample.tools(*calls[:count], failed=[0] if failed else [])
        self.note()

    def interrupt(self) -> None:
        self.sample.interrupt()
        self.note()

    def rewind(self, where: float) -> None:
        if self.at:
            uuids = list(self.at)
            self.sample.leaf = uuids[int(where * (len(uuids) - 1))]
            self.turns = self.at[self.sample.leaf]

    def compact(self, where: float) -> None:
        if not self.turns:
            return
        self.sample.compact("what was said")
        uuids = list(self.at)
        boundary, summary = self.sample.lines[-2:]
        kept = uuids[int(where * (len(uuids) - 1))]
        boundary["compactMetadata"]["preservedMessages"] = {
            "anchorUuid": summary["uuid"],
            "uuids": [kept],
        }
        self.note()

    def aside(self, kind: str) -> None:
        """Lines that open no turn."""
        match kind:
            case "queued":
                attachment = {
                    "type": "queued_command",
                    "prompt": "and that",
                    "commandMode": "prompt",
                }
                self.sample.chain("attachment", attachment=attachment)
            case "meta":
                message = {"role": "user", "content": "a reminder"}
                self.sample.chain("user", message=message, isMeta=True)
            case "sidechain":
                leaf = self.sample.leaf
                message = {"role": "user", "content": "to a sub-agent"}
                self.sample.chain("user", message=message)
                self.sample.lines[-1]["isSidechain"] = True
                self.sample.leaf = leaf
            case "system":
                self.sample.chain("system", subtype="informational", content="x")
            case "queue":
                self.sample.side("queue-operation", operation="enqueue", content="queued text")
                self.sample.side("queue-operation", operation="remove")
            case _:
                self.sample.side("custom-title", customTitle="a title")
        self.note()


Step = tuple[str, Any]

_steps: dict[str, st.SearchStrategy[Step]] = {
    "prompt": st.tuples(st.just("prompt"), texts),
    "answer": st.tuples(st.just("answer"), texts),
    "tools": st.tuples(st.just("tools"), st.tuples(st.integers(1, 3), st.booleans())),
    "interrupt": st.tuples(st.just("interrupt"), st.none()),
    "rewind": st.tuples(st.just("rewind"), st.floats(0, 1)),
    "compact": st.tuples(st.just("compact"), st.floats(0, 1)),
    "aside": st.tuples(
        st.just("aside"),
        st.sampled_from(["queued", "meta", "sidechain", "system", "queue", "title"]),
    ),
}


@st.composite
def stories(draw: st.DrawFn, *, linear: bool = False) -> Story:
    """A session of some steps, in any order; a linear one was never rewound."""
    names = [name for name in _steps if not (linear and name == "rewind")]
    story = Story(ClaudeSample(uuid(1), CWD, START), old=draw(st.booleans()))
    story.prompt(draw(texts))
    for name, value in draw(st.lists(st.one_of([_steps[name] for name in names]), max_size=14)):
        match name:
            case "prompt":
                story.prompt(value)
            case "answer":
                story.answer(value)
            case "tools":
                story.tools(value[0], failed=value[1])
            case "interrupt":
                story.interrupt()
            case "rewind":
                story.rewind(value)
            case "compact":
                story.compact(value)
            case _:
                story.aside(value)
    return story


@st.composite
def stories_with_last_prompts(draw: st.DrawFn) -> Story:
    """Also with lines that name the leaf, rightly or wrongly."""
    story = draw(stories())
    uuids = list(story.at)
    for where, leaf in draw(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=3)):
        line = {
            "type": "last-prompt",
            "leafUuid": uuids[int(leaf * (len(uuids) - 1))],
            "explicit": draw(st.booleans()),
        }
        story.sample.lines.insert(int(where * len(story.sample.lines)), line)
    return story
