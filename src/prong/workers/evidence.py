"""What claims about a worker amount to. No claim of `idle` is believed that may be wrong.

The first row that fits counts. *Live* is what a running program tells at this moment (Claude's
registry, Codex's lock and last mark), with the time since when it is so. A hook tells a thing once.
A prompt is what prong gave to the worker. *Newer* compares these times.

    a program or pane that ended                               gone
    a headless turn that runs                                  busy
    a headless turn that ended: with an end, without one       idle, gone
    live: wants a person                                       waiting
    hook: wants a person, and nothing is newer than that       waiting
    live: busy                                                 busy
    live idle, but a prompt or a busy hook is newer, and in    busy for a while, then unknown
      the registry's case no idle hook is newer than these
    the same, but that prompt is a command (/help), and it     idle: there was no turn
      has been idle since for some seconds
    live idle, since this very moment                          busy: a queued prompt may follow
    live idle                                                  idle
    hook: busy, or the session was written to, lately          busy
    hook: busy, long ago                                       unknown
    hook idle, but a prompt is newer                           busy for a while, then unknown
    hook idle, but the session was written to since            unknown
    hook idle, since this very moment                          busy: a queued prompt may follow
    hook idle: not long ago, or nothing was written since      idle
    hook idle, long ago; or from the future                    unknown
    nothing open, and a dialog is to be expected               waiting
    started just now                                           starting
    anything else                                              unknown

An agent that was just opened is idle, too, but that ends no turn: a prompt that was given to it at
its start, which is earlier, may be still to come. So such an idle is older than any prompt.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from prong.model.workers import Evidence, WorkerState

LIVE = ("registry", "lock")
DEAD = ("process", "pane")
OPENED = frozenset({"startup", "resume", "fork", "clear", "opened"})
"""Details of an idle that is no end of a turn."""
WRITTEN = "written"
"""The source of a claim that only tells when the session was written to."""

ENDING = "ending"
"""The detail of a busy that is most likely over: a moment later it will be told."""
SETTLED = timedelta(seconds=0.35)
"""Claude's registry says idle for 20 ms between a turn and a queued prompt, and tells of the next
change up to 250 ms late."""
_TAKES = timedelta(seconds=10)
"""So long a prompt may be on its way."""
COMMAND = "command"
"""The detail of a prompt that began with a slash: the agent may do it without asking the model."""
NO_TURN = "no turn"
"""The detail of an idle behind such a prompt."""
_BEGINS_WITHIN = timedelta(seconds=5)
"""Of an agent that takes prompts; so soon after one it has begun a turn, or will begin none."""
_FIRST_WITHIN = timedelta(seconds=30)
"""The same of one that does not tell since when it takes any: it may have been started just now."""
_LATE_LINES = timedelta(seconds=5)
"""The last lines of a turn come to the file after its end was told."""
_BUSY_FOR = timedelta(minutes=15)
"""A turn that neither tells nor writes anything for so long may have been lost."""
_IDLE_FOR = timedelta(hours=1)
"""So long an idle is believed where nothing else can be looked at."""
_STARTS_WITHIN = timedelta(seconds=60)
_AHEAD = timedelta(seconds=2)
"""Clocks of one machine differ by less."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)

_UNKNOWN = WorkerState.UNKNOWN
_BUSY, _IDLE = WorkerState.BUSY, WorkerState.IDLE
_WAITING, _GONE = WorkerState.WAITING, WorkerState.GONE


def judge(claims: Iterable[Evidence], now: datetime) -> Evidence:
    """What a worker does, as far as these claims tell; see the table above."""
    claims = list(claims)
    for one in claims:
        if (one.source in DEAD and one.state is _GONE) or one.source == "log":
            return one
    for one in claims:
        if one.source == "process":
            return one
    live = _first(claims, *LIVE)
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
    if hook is not None and hook.state is _WAITING:
        is_last = _written(written) - _time(hook) <= _LATE_LINES
        if is_last and _time(hook) >= _end(live):
            return hook
    if live.state is not _IDLE:
        return live
    # Of a very short turn the registry says nothing; Claude's hooks tell before it could. A lock's
    # mark is exact, and what Codex notifies of may come when the next prompt is on its way.
    ended = live
    is_exact = live.source == "lock"
    if not is_exact and hook is not None and hook.state is _IDLE and _end(hook) > _end(live):
        ended = hook
    newer = [
        one
        for one in (prompt, hook)
        if one is not None and one.state is _BUSY and _time(one) > _end(ended)
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
    last_sign = max(_time(hook), _written(written))
    if hook.state is _BUSY:
        if now - last_sign < _BUSY_FOR:
            return hook
        return _unsure(hook)
    if hook.state is _WAITING:
        return hook if last_sign - _time(hook) <= _LATE_LINES else _unsure(hook)
    if prompt is not None and _time(prompt) > _end(hook):
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
    """True when a command of the agent's own was given to it, and no turn has come of that."""
    within = _FIRST_WITHIN if idle.time is None else _BEGINS_WITHIN
    return prompt.detail == COMMAND and now - max(_time(prompt), _time(idle)) > within


def _unsure(claim: Evidence) -> Evidence:
    return Evidence(_UNKNOWN, claim.source, claim.time, claim.detail)


def _first(claims: Iterable[Evidence], *sources: str) -> Evidence | None:
    return next((one for one in claims if one.source in sources), None)


def _time(claim: Evidence) -> datetime:
    return claim.time or _LONG_AGO


def _written(claim: Evidence | None) -> datetime:
    return _time(claim) if claim is not None else _LONG_AGO


def _end(claim: Evidence) -> datetime:
    """When the turn ended that an idle tells of: long ago for one that ends none."""
    return _LONG_AGO if claim.state is _IDLE and claim.detail in OPENED else _time(claim)


def _age(claim: Evidence, now: datetime) -> timedelta:
    return now - _time(claim)
