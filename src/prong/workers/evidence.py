"""Decision table for the state of a worker. An uncertain claim of `idle` is never believed.

The first matching row counts. *Live* is the current report of a running program (Claude's registry,
Codex's lock and last mark), with the time since when it holds. A hook reports an event once. A
prompt is one that prong sent to the worker. *Newer* compares these times.

    a program or pane that ended                               gone
    a headless turn that runs                                  busy
    a headless turn that ended: with an end, without one       idle, gone
    live: waits for a person                                   waiting
    hook: waits for a person, and nothing is newer             waiting
    live: busy                                                 busy
    live idle, but a prompt or a busy hook is newer, and in    busy for a while, then unknown
      the registry's case no idle hook is newer than these
    the same, but that prompt is a command (/help), and it     idle: there was no turn
      has been idle since for some seconds
    live idle, since this very moment                          busy: a queued prompt may follow
    live idle                                                  idle
    hook: busy, or the session was written to, recently        busy
    hook: busy, long ago                                       unknown
    hook idle, but a prompt is newer                           busy for a while, then unknown
    hook idle, but the session was written to since            unknown
    hook idle, since this very moment                          busy: a queued prompt may follow
    hook idle: not long ago, or nothing was written since      idle
    hook idle, long ago; or from the future                    unknown
    no session open, and a trust dialog is expected            waiting
    started just now                                           starting
    anything else                                              unknown

An agent that was just opened is idle, too, but that ends no turn: the prompt that it was started
with, which is earlier, may still be processed. So such an idle counts as older than any prompt.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from prong.model.workers import Evidence, WorkerState

LIVE = ("registry", "lock")
DEAD = ("process", "pane")
OPENED = frozenset({"startup", "resume", "fork", "clear", "opened"})
"""Details of an idle that does not end a turn."""
WRITTEN = "written"
"""Source of a claim that only says when the session was last written to."""

ENDING = "ending"
"""Detail of a busy that is almost certainly over and is confirmed a moment later."""
SETTLED = timedelta(seconds=0.35)
"""Claude's registry shows idle for 20 ms before a queued prompt, and reports up to 250 ms late."""
_TAKES = timedelta(seconds=10)
"""Time that a prompt may take to start its turn."""
COMMAND = "command"
"""Detail of a prompt that began with a slash: the agent may run it without the model."""
NO_TURN = "no turn"
"""Detail of an idle after such a prompt."""
_BEGINS_WITHIN = timedelta(seconds=5)
"""A running agent starts a turn within this time of a prompt, or not at all."""
_FIRST_WITHIN = timedelta(seconds=30)
"""The same for an agent that reports no time: it may have been started just now."""
_LATE_LINES = timedelta(seconds=5)
"""The last lines of a turn reach the file after its end is reported."""
_BUSY_FOR = timedelta(minutes=15)
"""A turn that reports and writes nothing for so long may have been lost."""
_IDLE_FOR = timedelta(hours=1)
"""Time that an idle is believed without other evidence."""
_STARTS_WITHIN = timedelta(seconds=60)
_AHEAD = timedelta(seconds=2)
"""Clocks of one machine differ by less."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)

_UNKNOWN = WorkerState.UNKNOWN
_BUSY, _IDLE = WorkerState.BUSY, WorkerState.IDLE
_WAITING, _GONE = WorkerState.WAITING, WorkerState.GONE


def judge(claims: Iterable[Evidence], now: datetime) -> Evidence:
    """Determine the state of a worker from claims by the decision table above."""
    claims = list(claims)
    for claim in claims:
        if (claim.source in DEAD and claim.state is _GONE) or claim.source == "log":
            return claim
    process, live = _first(claims, "process"), _first(claims, *LIVE)
    if process is not None:
        return process
    hook = _first(claims, "hook")
    prompt = _first(claims, "prompt")
    written = _first(claims, WRITTEN)
    if live is not None:
        return _of_live(live, hook, prompt, written, now)
    if hook is not None and hook.state is not _GONE:
        return _of_hook(hook, prompt, written, now)
    dialog, start = _first(claims, "dialog"), _first(claims, "record")
    if dialog is not None:
        return dialog
    if start is not None and _age(start, now) < _STARTS_WITHIN:
        return start
    return Evidence(_UNKNOWN, "record", start.time if start else None)


def _of_live(
    live: Evidence,
    hook: Evidence | None,
    prompt: Evidence | None,
    written: Evidence | None,
    now: datetime,
) -> Evidence:
    if live.state is _WAITING:
        return live
    was_written = _time(written) - _time(hook) > _LATE_LINES
    if hook and hook.state is _WAITING and _time(hook) >= turn_end(live) and not was_written:
        return hook
    if live.state is not _IDLE:
        return live
    # The registry never shows a very short turn, but Claude's hooks report it. A lock's mark is
    # exact, and Codex's notification may arrive after the next prompt was sent.
    ended = live
    if live.source != "lock" and hook is not None and hook.state is _IDLE:
        ended = max(live, hook, key=turn_end)
    newer = [
        claim
        for claim in (prompt, hook)
        if claim is not None and claim.state is _BUSY and _time(claim) > turn_end(ended)
    ]
    if newer == [prompt] and _asked_nothing(newer[0], ended, now):
        return Evidence(_IDLE, ended.source, ended.time, NO_TURN)
    if newer:
        return _on_its_way(newer[0], now)
    if timedelta(0) <= _age(ended, now) < SETTLED:
        return Evidence(_BUSY, ended.source, ended.time, ENDING)
    return ended


def _of_hook(
    hook: Evidence, prompt: Evidence | None, written: Evidence | None, now: datetime
) -> Evidence:
    last_sign = max(_time(hook), _time(written))
    if hook.state is _BUSY:
        return hook if now - last_sign < _BUSY_FOR else _unsure(hook)
    if hook.state is _WAITING:
        return hook if last_sign - _time(hook) <= _LATE_LINES else _unsure(hook)
    if prompt is not None and _time(prompt) > turn_end(hook):
        return _on_its_way(prompt, now)
    if last_sign - _time(hook) > _LATE_LINES or _age(hook, now) < -_AHEAD:
        return _unsure(hook)
    if _age(hook, now) < SETTLED:
        return Evidence(_BUSY, hook.source, hook.time, ENDING)
    if written is None and _age(hook, now) > _IDLE_FOR:
        return _unsure(hook)
    return hook


def _on_its_way(busy: Evidence, now: datetime) -> Evidence:
    return busy if _age(busy, now) < _TAKES else _unsure(busy)


def _asked_nothing(prompt: Evidence, idle: Evidence, now: datetime) -> bool:
    """Return whether a slash command started no turn."""
    within = _FIRST_WITHIN if idle.time is None else _BEGINS_WITHIN
    return prompt.detail == COMMAND and now - max(_time(prompt), _time(idle)) > within


def _unsure(claim: Evidence) -> Evidence:
    return Evidence(_UNKNOWN, claim.source, claim.time, claim.detail)


def _first(claims: Iterable[Evidence], *sources: str) -> Evidence | None:
    return next((claim for claim in claims if claim.source in sources), None)


def _time(claim: Evidence | None) -> datetime:
    return (claim and claim.time) or _LONG_AGO


def turn_end(claim: Evidence) -> datetime:
    """Return when the turn ended; long ago for an idle that ends no turn."""
    return _LONG_AGO if claim.state is _IDLE and claim.detail in OPENED else _time(claim)


def _age(claim: Evidence, now: datetime) -> timedelta:
    return now - _time(claim)
