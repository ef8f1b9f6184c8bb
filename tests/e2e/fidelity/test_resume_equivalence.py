"""The proof: our active conversation is what the real agent sends to the model when it resumes.

Every scenario was built by the real program and then resumed by it; the fake model server kept
the request. Our reader sees only the files as they were before that. Left aside are system
messages, reminders and what the agent makes up while it resumes (named below); the order of the
results of parallel tools is free. Readers give text: no signatures, no pictures, no encrypted
thoughts. They have the thoughts of all models, where Claude Code sends a model only its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, cast

import pytest

from prong.agents.base import AgentStore
from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.store import CodexStore
from prong.model.sessions import Message, View
from prong.testing.anthropic import strip_reminders
from prong.testing.openai import CODEX_INJECTED
from tests.drivers.claude_cli import read_lines
from tests.drivers.requests import (
    Item,
    anthropic_items,
    canonical,
    openai_items,
)
from tests.e2e.fidelity.native import spoken
from tests.e2e.labs import claude_scenarios, codex_scenarios
from tests.e2e.labs.cache import ScenarioCache
from tests.e2e.scenario import Scenario

# What Claude Code wraps around things that are lines of the session.
NOTIFICATION = re.compile(
    r"<system-reminder>(?:(?!</system-reminder>).)*"
    r"(<task-notification>.*?</task-notification>).*?</system-reminder>",
    re.DOTALL,
)
TYPED_WHILE_BUSY = re.compile(
    r"\AThe user sent a new message while you were working:\n(.*?)\n\nThis is how Claude Code.*",
    re.DOTALL,
)

# What an agent makes up on resume; no line of the session says it.
NO_RESPONSE = Item("assistant", "No response requested.")
# A thought that has no text; see `Item`.
ENCRYPTED = ("thinking", "[redacted]")
# A picture in a request; see `Item`.
PICTURE = re.compile(r"\[(?:input_)?image [0-9a-f]{16}\]")
MADE_UP_RESULTS = ("[Tool call interrupted: the session ended", "aborted")


def ours(store: AgentStore, scenario: Scenario) -> list[Item]:
    session = store.session_at(scenario.path)
    assert session is not None
    assert session.id == scenario.session_id
    return in_free_order(as_items(store.messages(session, view=View.CONTEXT)))


def as_items(messages: Iterable[Message]) -> list[Item]:
    items: list[Item] = []
    for message in messages:
        tool = message.tool
        if tool is None:
            text = strip_reminders(message.text)
            if text or message.role == "thinking":
                assert message.role in ("user", "assistant", "thinking")
                items.append(Item(message.role, text))
        elif message.role == "assistant":
            items.append(Item("call", arguments(tool.input), tool.name, tool.id))
        else:
            items.append(Item("result", strip_reminders(tool.output or ""), id=tool.id))
    return items


def as_text(item: Item) -> Item:
    """An item of a request as our readers have it."""
    text = PICTURE.sub("[image]", item.text).strip()
    return Item(item.role, text, item.name, item.id)


def arguments(text: str) -> str:
    try:
        return canonical(json.loads(text))
    except ValueError:
        return text


def in_free_order(items: Iterable[Item]) -> list[Item]:
    """The results that follow each other in the order of their ids."""
    ordered: list[Item] = []
    run: list[Item] = []
    for item in (*items, None):
        if item is not None and item.role == "result":
            run.append(item)
            continue
        ordered += sorted(run, key=lambda result: result.id)
        run = []
        ordered += [item] if item is not None else []
    return ordered


def sent(items: list[Item], scenario: Scenario, our_items: list[Item]) -> list[Item]:
    """What the agent sent before the probe, without what it made up."""
    assert items[-1] == Item("user", scenario.probe)
    items = items[:-1]
    if items[-1:] == [NO_RESPONSE] and our_items[-1:] != [NO_RESPONSE]:
        items = items[:-1]
    known = {item.id for item in our_items if item.role == "result"}
    return in_free_order(
        as_text(item)
        for item in items
        if item.role != "result" or item.id in known or not item.text.startswith(MADE_UP_RESULTS)
        if (item.role, item.text) != ENCRYPTED
    )


def has_many_models(scenario: Scenario) -> bool:
    answers = [line for line in read_lines(scenario.path) if line["type"] == "assistant"]
    return len({line["message"]["model"] for line in answers}) > 1


def unwrapped(body: Any) -> Any:
    """The request body with Claude Code's wrapping taken off what people and tasks said."""
    if isinstance(body, dict):
        fields = cast(dict[str, Any], body)
        return {key: unwrapped(value) for key, value in fields.items()}
    if isinstance(body, list):
        return [unwrapped(value) for value in cast(list[Any], body)]
    if isinstance(body, str):
        return TYPED_WHILE_BUSY.sub(r"\1", NOTIFICATION.sub(r"\1", body))
    return body


@pytest.mark.parametrize("name", claude_scenarios.BUILDERS)
def test_claude_sends_our_active_conversation(name: str, claude_sessions: ScenarioCache) -> None:
    scenario = claude_sessions.get(name)
    mine = ours(ClaudeStore([scenario.root]), scenario)
    theirs = anthropic_items(unwrapped(scenario.resume_request))
    if has_many_models(scenario):
        mine, theirs = spoken(mine), spoken(theirs)
    assert mine == sent(theirs, scenario, mine)


@pytest.mark.parametrize("name", codex_scenarios.BUILDERS)
def test_codex_sends_our_active_conversation(name: str, codex_threads: ScenarioCache) -> None:
    scenario = codex_threads.get(name)
    mine = [
        Item(item.role, item.text.strip(), item.name, item.id)
        for item in ours(CodexStore([scenario.root]), scenario)
        if not (item.role == "user" and item.text.startswith(CODEX_INJECTED))
    ]
    theirs = openai_items(scenario.resume_request)
    assert mine == sent(theirs, scenario, mine)
