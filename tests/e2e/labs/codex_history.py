"""Codex threads whose history is no straight line: forks, reverts, compactions."""

from __future__ import annotations

import threading

from prong.agents.codex.fork.copy import uuid7
from prong.agents.codex.store import CodexStore
from prong.testing.script import Hold, Reply, Text, Usage, say
from tests.e2e.labs.codex_lab import PLAIN, CodexLab, scenario
from tests.e2e.labs.codex_turns import parallel_tools, tool_calls
from tests.e2e.scenario import prong_fork

# -- forks ----------------------------------------------------------------------------------------


@scenario
def fork_at_turn(lab: CodexLab) -> str:
    """thread/fork after the second of three turns, then a turn of its own."""
    source = lab.turns(*PLAIN)
    with lab.app_server() as server:
        fork = server.fork_thread(source, server.turn_ids(source)[1])
        server.turn(fork, "delta four")
    return fork


@scenario
def fork_without_turn(lab: CodexLab) -> str:
    """thread/fork after the first of three turns, and nothing more."""
    source = lab.turns(*PLAIN)
    with lab.app_server() as server:
        return server.fork_thread(source, server.turn_ids(source)[0])


@scenario
def fork_whole(lab: CodexLab) -> str:
    """`codex exec fork ID PROMPT`; the parent grows afterwards."""
    source = lab.turns(*PLAIN)
    fork = lab.cli.fork(source, "delta four", lab.cwd).thread_id
    lab.cli.resume(source, "not in the fork", lab.cwd)
    return fork


@scenario
def fork_of_fork(lab: CodexLab) -> str:
    """A fork of a fork, each at an earlier turn."""
    source = lab.turns(*PLAIN)
    with lab.app_server() as server:
        first = server.fork_thread(source, server.turn_ids(source)[1])
        server.turn(first, "delta four")
        server.turn(first, "epsilon five")
        second = server.fork_thread(first, server.turn_ids(first)[2])
        server.turn(second, "zeta six")
    return second


@scenario
def fork_chain(lab: CodexLab) -> str:
    """A native fork of prong's fork of a native fork, with parallel tools at the start."""
    source = parallel_tools(lab)
    native = lab.cli.fork(source, "gamma three", lab.cwd).thread_id
    copy = prong_fork(CodexStore([lab.home.codex]), native, turn=2, into=lab.cwd, id_=uuid7())
    lab.cli.resume(copy, "delta four", lab.cwd)
    return lab.cli.fork(copy, "epsilon five", lab.cwd).thread_id


@scenario
def fork_of_inherited(lab: CodexLab) -> str:
    """A fork of a fork at a turn that the first fork only inherited."""
    source = lab.turns(*PLAIN)
    with lab.app_server() as server:
        first = server.fork_thread(source, server.turn_ids(source)[1])
        server.turn(first, "delta four")
        second = server.fork_thread(first, server.turn_ids(first)[0])
        server.turn(second, "epsilon five")
    return second


@scenario
def fork_with_tools(lab: CodexLab) -> str:
    """A fork after a turn with parallel tools."""
    source = parallel_tools(lab)
    with lab.app_server() as server:
        fork = server.fork_thread(source, server.turn_ids(source)[0])
        server.turn(fork, "gamma three")
    return fork


@scenario
def fork_while_busy(lab: CodexLab) -> str:
    """`exec fork` of a thread that runs a turn in another process."""
    gate = threading.Event()
    source = lab.turns("alpha one")
    with lab.app_server() as server:
        server.resume_thread(source)
        lab.server.enqueue(Reply(Text("half "), Hold(gate), Text("answer")))
        turn = server.start_turn(source, "beta two")
        lab.server.wait_for_prompt("beta two")
        fork = lab.cli.fork(source, "gamma in the fork", lab.cwd).thread_id
        gate.set()
        server.finish_turn(turn)
    return fork


# -- rewind ---------------------------------------------------------------------------------------


@scenario
def rewind(lab: CodexLab) -> str:
    """Esc Esc Enter in the terminal UI, then a new prompt: a new segment file."""
    with lab.terminal() as terminal:
        for prompt in PLAIN:
            terminal.prompt(prompt)
        terminal.rewind("gamma three")
        terminal.prompt("delta four")
        return terminal.thread_id()


@scenario
def revert(lab: CodexLab) -> str:
    """thread/revert to before the second of three turns, then two new turns."""
    thread = lab.turns(*PLAIN)
    with lab.app_server() as server:
        server.resume_thread(thread)
        server.revert_thread(thread, server.turn_ids(thread)[1])
        server.turn(thread, "delta four")
        server.turn(thread, "epsilon five")
    return thread


@scenario
def revert_only(lab: CodexLab) -> str:
    """thread/revert and nothing more."""
    thread = lab.turns(*PLAIN)
    with lab.app_server() as server:
        server.resume_thread(thread)
        server.revert_thread(thread, server.turn_ids(thread)[1])
    return thread


@scenario
def revert_all(lab: CodexLab) -> str:
    """thread/revert to before the first turn, then a new turn."""
    thread = lab.turns("alpha one", "beta two")
    with lab.app_server() as server:
        server.resume_thread(thread)
        server.revert_thread(thread, server.turn_ids(thread)[0])
        server.turn(thread, "gamma three")
    return thread


@scenario
def revert_twice(lab: CodexLab) -> str:
    """Two reverts with turns between: three files of one thread."""
    thread = lab.turns(*PLAIN)
    with lab.app_server() as server:
        server.resume_thread(thread)
        server.revert_thread(thread, server.turn_ids(thread)[2])
        server.turn(thread, "delta four")
        server.turn(thread, "epsilon five")
        server.revert_thread(thread, server.turn_ids(thread)[3])
        server.turn(thread, "zeta six")
    return thread


@scenario
def fork_of_reverted(lab: CodexLab) -> str:
    """A fork of a thread that was reverted: it points at a segment."""
    thread = revert(lab)
    with lab.app_server() as server:
        fork = server.fork_thread(thread, server.turn_ids(thread)[1])
        server.turn(fork, "zeta six")
    return fork


@scenario
def revert_of_fork(lab: CodexLab) -> str:
    """A fork that was reverted into its inherited turns."""
    source = lab.turns(*PLAIN)
    with lab.app_server() as server:
        fork = server.fork_thread(source)
        server.turn(fork, "delta four")
        server.revert_thread(fork, server.turn_ids(fork)[1])
        server.turn(fork, "epsilon five")
    return fork


# -- compaction -----------------------------------------------------------------------------------


@scenario
def compact(lab: CodexLab) -> str:
    """thread/compact/start, as the last thing."""
    thread = tool_calls(lab)
    with lab.app_server() as server:
        server.resume_thread(thread)
        server.compact(thread)
    return thread


@scenario
def compact_then_turns(lab: CodexLab) -> str:
    """A compaction, then two more turns."""
    thread = tool_calls(lab)
    with lab.app_server() as server:
        server.resume_thread(thread)
        server.compact(thread)
        server.turn(thread, "delta four")
        server.turn(thread, "epsilon five")
    return thread


@scenario
def compact_twice(lab: CodexLab) -> str:
    """Two compactions with turns between and after."""
    thread = lab.turns("alpha one", "beta two")
    with lab.app_server() as server:
        server.resume_thread(thread)
        server.compact(thread)
        server.turn(thread, "gamma three")
        server.compact(thread)
        server.turn(thread, "delta four")
    return thread


@scenario
def compact_auto(lab: CodexLab) -> str:
    """Automatic compaction: an answer reports more tokens than the limit."""
    lab.cli.configure("model_auto_compact_token_limit = 100000")
    lab.server.enqueue(say("first answer"), Reply(Text("a long way"), usage=Usage(990_000, 10)))
    return lab.turns("alpha one", "beta two", "gamma three", "delta four")


@scenario
def fork_before_compact(lab: CodexLab) -> str:
    """A fork at a turn before the compaction: the whole old history."""
    thread = compact_then_turns(lab)
    with lab.app_server() as server:
        fork = server.fork_thread(thread, server.turn_ids(thread)[1])
        server.turn(fork, "zeta six")
    return fork


@scenario
def fork_after_compact(lab: CodexLab) -> str:
    """A fork at a turn after the compaction."""
    thread = compact_then_turns(lab)
    with lab.app_server() as server:
        fork = server.fork_thread(thread, server.turn_ids(thread)[-2])
        server.turn(fork, "zeta six")
    return fork


@scenario
def revert_before_compact(lab: CodexLab) -> str:
    """A revert to before the compaction."""
    thread = compact_then_turns(lab)
    with lab.app_server() as server:
        server.resume_thread(thread)
        server.revert_thread(thread, server.turn_ids(thread)[2])
        server.turn(thread, "zeta six")
    return thread
