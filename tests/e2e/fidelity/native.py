"""What the model must get from a fork at a turn, taken from what the agent itself sent.

While a scenario was built, the fake model kept every request and every answer. The history up to
turn k is what the request that brought the prompt of turn k+1 had before that prompt. Our readers
of session files have no part in it; from them come only the prompts of the turns, by which the
requests are told apart, and the side of a turn on which a compaction stands.

A running agent and one that resumes need not send the same: the results of parallel tools may
have another order, and the thoughts of another model are left out. Where that may be, Claude Code
is asked what it sends when it resumes at the turn (`Bench.history` in compare.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, cast

from prong.model.sessions import Conversation, Turn, TurnKind, TurnState
from prong.testing.anthropic import strip_reminders
from prong.testing.server import SUMMARY
from tests.drivers.requests import Item, anthropic_items, openai_items
from tests.e2e.scenario import Scenario

# What Claude Code says for the model when a conversation ends in a line of the user.
NO_RESPONSE = Item("assistant", "No response requested.")

SPOKEN = ("assistant", "thinking", "call")

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

# What stands between two turns and belongs to none: commands that the agent ran itself, and what
# it says about them. A fork ends with the last answer of its turn, so these are not in it.
BETWEEN_TURNS = (
    "<local-command-caveat>",
    "<local-command-stdout>",
    "<command-name>",
    "## Context Usage",  # what /context prints
    "<bash-input>",  # of bash mode; its output is what opens the turn
)


@dataclass(frozen=True)
class Native:
    """The native conversation of a scenario."""

    scenario: Scenario
    conversation: Conversation

    @cached_property
    def requests(self) -> list[list[Item]]:
        return [self.items(body) for body in self.scenario.native_requests]

    @cached_property
    def answers(self) -> list[list[Item]]:
        return [self._answer(document) for document in self.scenario.native_answers]

    @cached_property
    def resumed(self) -> list[Item]:
        """What was sent when the session was resumed, without the probe."""
        items = self.items(self.scenario.resume_request)
        assert items[-1] == Item("user", self.scenario.probe)
        return items[:-1]

    def items(self, body: dict[str, Any]) -> list[Item]:
        """A request of this scenario's agent as items."""
        is_claude = self.scenario.agent == "claude"
        return anthropic_items(unwrapped(body)) if is_claude else openai_items(body)

    def _answer(self, document: dict[str, Any]) -> list[Item]:
        if self.scenario.agent == "claude":
            return anthropic_items({"messages": [document]} if document else {})
        return openai_items({"input": document.get("output", [])})

    @property
    def turns(self) -> list[Turn]:
        """All that can be forked at, the abandoned ones at the end."""
        return [*self.conversation.turns, *self.conversation.abandoned]

    # -- expected histories ---------------------------------------------------------------------

    def until(self, turn: Turn) -> list[Item]:
        """What the model gets from a fork at a turn."""
        history = self._following(turn)
        last = self.requests[self._requests_of(turn)[-1]]
        if history is None or self._is_summarised_with_next(turn):
            # Nobody went on from here, or only after a compaction that came with the next prompt.
            return ended(last + self._answer_to(turn))
        assert begins(history, last) or self._is_summarised_behind(turn), turn.prompt
        if self.is_last(turn):
            # A fork at the end has what was done behind the last turn.
            return answered(history)
        return ended(history)

    def depends_on_resume(self, turn: Turn) -> bool:
        """True when the running agent may have sent a turn otherwise than one that resumes does."""
        thoughts = any(item.role == "thinking" for answer in self.answers for item in answer)
        return thoughts or any(a.role == b.role == "result" for a, b in pairwise(self.until(turn)))

    def is_last(self, turn: Turn) -> bool:
        """True when the active conversation ends with this turn."""
        return turn.index == len(self.conversation.turns)

    def is_summarised(self, turn: Turn) -> bool:
        """True when a fork at this turn has a summary in it unless it is asked for in full."""
        if turn.index is None:
            return self.until(turn) != self.until_in_full(turn)
        return any(number <= turn.index for number in self.conversation.compactions)

    def until_in_full(self, turn: Turn) -> list[Item]:
        """The same with the words that were said in place of the summaries."""
        if turn.index is None and not any(SUMMARY in item.text for item in self.until(turn)):
            # It may have begun in the middle of the turn before it, so turns do not add up to it.
            return self.until(turn)
        path = self._path(turn)
        history = self._until_prompt(path[0])
        for one in path:
            history += self._words(one)
        return ended(history)

    def before(self, turn: Turn) -> Turn | None:
        """The turn before another one; None for the first."""
        return next(iter(self._path(turn)[-2:-1]), None)

    def prompt(self, turn: Turn) -> list[Item]:
        """The prompt as the model got it, without what was queued behind it."""
        items = self._at_prompt(turn)
        own = items[self._place(turn, items) :]
        return [item for item in own if item.text not in turn.queued]

    def _at_prompt(self, turn: Turn) -> list[Item]:
        """What was sent with the prompt of a turn, this prompt included."""
        return self.requests[self._first_request(turn)]

    def _words(self, turn: Turn) -> list[Item]:
        """What was said in one turn, and what was done before the next one."""
        numbers = self._requests_of(turn)
        first, last = self.requests[numbers[0]], self.requests[numbers[-1]]
        history = self._following(turn)
        went_on = history if history is not None and begins(history, last) else None
        if went_on is not None and any(self.opens(turn, item) for item in went_on):
            return went_on[self._place(turn, went_on) :]
        # A compaction behind the turn, or in the middle of it, took its beginning away.
        words = first[self._place(turn, first) :]
        for number, after in pairwise(numbers):
            if self.answers[number]:
                words += self.answers[number] + told(self.requests[after])
        return words + (self._answer_to(turn) if went_on is None else went_on[len(last) :])

    def _following(self, turn: Turn) -> list[Item] | None:
        """What the next request had before its prompt; None when there was none."""
        after = self._next(turn)
        if after is not None:
            return self._until_prompt(after)
        return None if turn.index is None else self.resumed

    def _until_prompt(self, turn: Turn) -> list[Item]:
        items = self._at_prompt(turn)
        return items[: self._place(turn, items)]

    def _is_summarised_behind(self, turn: Turn) -> bool:
        """True when the compaction behind a turn belongs to it."""
        # On abandoned branches of the scenarios it was always asked for by a command.
        return turn.index is None or turn.index in self.conversation.compactions

    def _is_summarised_with_next(self, turn: Turn) -> bool:
        """True when the next prompt made the window too full."""
        after = self._next(turn)
        if after is None or self._is_summarised_behind(turn):
            return False
        if after.index not in self.conversation.compactions:
            return False
        return not begins(self._until_prompt(after), self.requests[self._requests_of(turn)[-1]])

    def _answer_to(self, turn: Turn) -> list[Item]:
        """The last answer of a turn; an interrupt kept it from arriving."""
        finished = turn.state is TurnState.FINISHED
        return self.answers[self._requests_of(turn)[-1]] if finished else []

    # -- which request belongs to which turn ------------------------------------------------------

    def opens(self, turn: Turn, item: Item) -> bool:
        """True when the item is the prompt of the turn."""
        if item.role != "user":
            return False
        if turn.kind is TurnKind.NOTIFICATION:
            return item.text.startswith("<task-notification>")
        if turn.kind is TurnKind.COMMAND and turn.prompt.startswith("!"):
            return item.text == f"<bash-input>{turn.prompt[1:]}</bash-input>"
        if turn.kind is TurnKind.COMMAND:
            name, _, arguments = turn.prompt.partition(" ")
            marks = f"<command-name>{name}</command-name>", f"<command-args>{arguments}<"
            return all(mark in item.text for mark in marks)
        # Our readers name a picture where it stands; in a request it is an item of its own.
        return item.text == strip_reminders(turn.prompt.replace("[image]", ""))

    def _place(self, turn: Turn, items: Sequence[Item]) -> int:
        return max(number for number, item in enumerate(items) if self.opens(turn, item))

    def _first_request(self, turn: Turn) -> int:
        """The request that brought the prompt of a turn."""
        for number, items in enumerate(self.requests):
            if any(self.opens(turn, item) for item in told(items)):
                return number
        raise AssertionError(f"no request brought the prompt {turn.prompt!r}")

    def _requests_of(self, turn: Turn) -> list[int]:
        """All requests of a turn: the first, and those that brought results and hints."""
        first = self._first_request(turn)
        found = [first]
        for number, items in enumerate(self.requests[first + 1 :], start=first + 1):
            # A refused request is made again. Any other prompt begins another turn.
            if items != self.requests[first] and not all(
                is_hint(item, turn) for item in told(items)
            ):
                break
            found.append(number)
        return found

    def _path(self, turn: Turn) -> list[Turn]:
        """The turns of the conversation that a turn is in, up to and with it."""
        if turn.index is not None:
            return list(self.conversation.turns[: turn.index])
        seen = [
            one for item in self._at_prompt(turn) for one in self.turns if self.opens(one, item)
        ]
        # What a compaction left out was there before the branch began.
        start = (seen[0].index or 1) - 1
        return [*self.conversation.turns[:start], *seen]

    def _next(self, turn: Turn) -> Turn | None:
        """The turn that came after this one in the same conversation."""
        if turn.index is not None:
            return next(iter(self.conversation.turns[turn.index :]), None)
        others = (other for other in self.conversation.abandoned if other is not turn)
        return next((other for other in others if self._path(other)[-2:-1] == [turn]), None)


def told(items: Sequence[Item]) -> list[Item]:
    """What a request adds to the last answer: results and what the user said."""
    answers = [number for number, item in enumerate(items) if item.role in SPOKEN]
    return list(items[answers[-1] + 1 :] if answers else items)


def is_hint(item: Item, turn: Turn) -> bool:
    """True for what reaches the model in the middle of a turn."""
    return (
        item.role == "result"
        or item.text in turn.queued
        or item.text.startswith(("Stop hook feedback:", "<subagent_notification>"))
    )


def answered(history: Iterable[Item]) -> list[Item]:
    """The history without what Claude Code says for the model at its end."""
    items = list(history)
    return items[:-1] if items[-1:] == [NO_RESPONSE] else items


def ended(history: Iterable[Item]) -> list[Item]:
    """The history up to the end of its last turn."""
    items = answered(history)
    while items and items[-1].role == "user" and items[-1].text.startswith(BETWEEN_TURNS):
        del items[-1]
    return items


def begins(history: Sequence[Item], start: Sequence[Item]) -> bool:
    """True when a history begins with another one, thoughts aside: a model gets only its own."""
    said, first = spoken(history), spoken(start)
    return in_free_order(said[: len(first)]) == in_free_order(first)


def spoken(items: Iterable[Item]) -> list[Item]:
    """The items without thoughts."""
    return [item for item in items if item.role != "thinking"]


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
