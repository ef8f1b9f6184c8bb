"""Claude Code sessions whose history is no straight line: rewinds, compactions, branches."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from uuid import uuid4

from prong.agents.claude.store import ClaudeStore
from prong.testing.script import Hold, Reply, Text, Usage, say
from prong.testing.server import Request
from tests.drivers.claude_cli import ClaudeRun, read_lines
from tests.e2e.labs.claude_lab import ClaudeLab, ClaudeStream, bash, scenario
from tests.e2e.labs.claude_turns import tool_calls
from tests.e2e.scenario import prong_fork

# -- rewind -----------------------------------------------------------------------


@scenario
def rewind(lab: ClaudeLab) -> str:
    """Esc Esc to before the second of three prompts, then two new turns."""
    with lab.terminal() as terminal:
        for prompt in ("alpha one", "beta two", "gamma three"):
            terminal.prompt(prompt)
        terminal.rewind("beta two")
        terminal.prompt("delta four")
        terminal.prompt("epsilon five")
        return terminal.session_id()


@scenario
def rewind_to_start(lab: ClaudeLab) -> str:
    """Esc Esc to before the first prompt, then a new turn."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        terminal.prompt("beta two")
        terminal.rewind("alpha one")
        terminal.prompt("gamma three")
        return terminal.session_id()


@scenario
def rewind_twice(lab: ClaudeLab) -> str:
    """Two rewinds to the same point: three siblings."""
    with lab.terminal() as terminal:
        for prompt in ("alpha one", "beta two", "gamma three"):
            terminal.prompt(prompt)
        terminal.rewind("beta two")
        terminal.prompt("delta four")
        terminal.rewind("delta four")
        terminal.prompt("epsilon five")
        return terminal.session_id()


@scenario
def rewind_left(lab: ClaudeLab) -> str:
    """A rewind and then /exit, without a new prompt."""
    with lab.terminal() as terminal:
        for prompt in ("alpha one", "beta two", "gamma three"):
            terminal.prompt(prompt)
        terminal.rewind("beta two")
        return terminal.session_id()


@scenario
def rewind_by_program(lab: ClaudeLab) -> str:
    """Rewound by a request, as editors do: written down at once, without a new prompt."""
    with ClaudeStream(lab) as stream:
        for prompt in ("alpha one", "beta two", "gamma three"):
            stream.prompt(prompt)
        lines = read_lines(lab.cli.session_file(stream.session_id))
        prompts = [line["uuid"] for line in lines if line["type"] == "user"]
        answer = stream.request(
            subtype="rewind_conversation",
            target_message_uuid=prompts[1],
            last_seen_user_message_uuid=prompts[2],
        )
        assert answer["rewound"], answer
        return stream.session_id


@scenario
def rewind_to_parallel(lab: ClaudeLab) -> str:
    """A rewind to just after a turn with parallel tools."""
    with lab.terminal() as terminal:
        lab.server.enqueue(Reply(bash("echo a"), bash("echo b")), say("both done"))
        terminal.prompt("alpha one")
        terminal.prompt("beta two")
        terminal.rewind("beta two")
        terminal.prompt("gamma three")
        return terminal.session_id()


# -- compaction -----------------------------------------------------------------------------------


@scenario
def compact(lab: ClaudeLab) -> str:
    """/compact by hand, as the last thing."""
    with lab.terminal() as terminal:
        for prompt in ("alpha one", "beta two", "gamma three"):
            terminal.prompt(prompt)
        terminal.compact()
        return terminal.session_id()


@scenario
def compact_then_turns(lab: ClaudeLab) -> str:
    """/compact, then two more turns."""
    with lab.terminal() as terminal:
        for prompt in ("alpha one", "beta two", "gamma three"):
            terminal.prompt(prompt)
        terminal.compact()
        terminal.prompt("delta four")
        terminal.prompt("epsilon five")
        return terminal.session_id()


@scenario
def compact_twice(lab: ClaudeLab) -> str:
    """Two compactions with turns between and after."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        terminal.prompt("beta two")
        terminal.compact()
        terminal.prompt("gamma three")
        terminal.prompt("delta four")
        terminal.compact()
        terminal.prompt("epsilon five")
        return terminal.session_id()


@scenario
def compact_with_tools(lab: ClaudeLab) -> str:
    """A compaction of a history that ends with parallel tools."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(
            Reply(Text("two things"), bash("echo a"), bash("echo b")), say("tools done")
        )
        terminal.prompt("beta two")
        terminal.compact()
        terminal.prompt("gamma three")
        return terminal.session_id()


@scenario
def compact_auto(lab: ClaudeLab) -> str:
    """Automatic compaction: an answer reports 990,000 used tokens."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(Reply(Text("a long way"), usage=Usage(990_000, 10)))
        terminal.prompt("beta two")
        terminal.prompt("gamma three")
        terminal.prompt("delta four")
        return terminal.session_id()


@scenario
def compact_auto_midturn(lab: ClaudeLab) -> str:
    """Automatic compaction in the middle of a turn, between two tool calls."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(
            Reply(bash("echo first"), usage=Usage(990_000, 10)),
            Reply(bash("echo second")),
            say("after both"),
        )
        terminal.prompt("beta two")
        terminal.prompt("gamma three")
        return terminal.session_id()


@scenario
def summarize_from(lab: ClaudeLab) -> str:
    """Esc Esc, "Summarize from here" at the second of three prompts, then a turn."""
    with lab.terminal() as terminal:
        for prompt in ("alpha one", "beta two", "gamma three"):
            terminal.prompt(prompt)
        terminal.rewind("beta two", option="Summarize from here")
        terminal.wait_idle(written=[b'"subtype":"compact_boundary"'])
        terminal.clear_input()
        terminal.prompt("delta four")
        return terminal.session_id()


@scenario
def summarize_up_to(lab: ClaudeLab) -> str:
    """Esc Esc, "Summarize up to here" at the third of three prompts, then a turn."""
    with lab.terminal() as terminal:
        for prompt in ("alpha one", "beta two", "gamma three"):
            terminal.prompt(prompt)
        terminal.rewind("gamma three", option="Summarize up to here")
        terminal.wait_idle(written=[b'"subtype":"compact_boundary"'])
        terminal.clear_input()
        terminal.prompt("delta four")
        return terminal.session_id()


@scenario
def rewind_after_compact(lab: ClaudeLab) -> str:
    """/compact, two turns, then a rewind to the first prompt after the compaction."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        terminal.prompt("beta two")
        terminal.compact()
        terminal.prompt("gamma three")
        terminal.prompt("delta four")
        terminal.rewind("delta four")
        terminal.prompt("epsilon five")
        return terminal.session_id()


# -- branches -------------------------------------------------------------------------------------


def _branch(lab: ClaudeLab) -> tuple[str, str]:
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        terminal.prompt("beta two")
        parent = terminal.session_id()
        terminal.branch()
        terminal.prompt("gamma in the branch")
        return parent, terminal.session_id()


@scenario
def branch_child(lab: ClaudeLab) -> str:
    """/branch after two turns, a third in the branch: the branch."""
    return _branch(lab)[1]


@scenario
def branch_parent(lab: ClaudeLab) -> str:
    """/branch after two turns: the session it came from."""
    return _branch(lab)[0]


@scenario
def fork_flag(lab: ClaudeLab) -> str:
    """--resume --fork-session of a session with parallel tools and a rewind."""
    source = rewind_to_parallel(lab)
    return lab.cli.run("delta four", lab.cwd, resume=source, fork=True).session_id


@scenario
def fork_flag_interactive(lab: ClaudeLab) -> str:
    """--resume --fork-session in the terminal UI."""
    source = tool_calls(lab)
    with lab.terminal("--resume", source, "--fork-session") as terminal:
        terminal.prompt("delta four")
        return terminal.session_id()


@scenario
def resumed(lab: ClaudeLab) -> str:
    """A session that was left and resumed in the terminal UI, with another turn."""
    source = tool_calls(lab)
    with lab.terminal("--resume", source) as terminal:
        terminal.prompt("delta four")
        return terminal.session_id()


@scenario
def resumed_at(lab: ClaudeLab) -> str:
    """-p --resume-session-at the first answer, in place: a branch appended to the same file."""
    first = lab.cli.run("alpha one", lab.cwd)
    lab.cli.run("beta two", lab.cwd, resume=first.session_id)
    lines = read_lines(lab.cli.session_file(first.session_id))
    answer = next(line["uuid"] for line in lines if line["type"] == "assistant")
    lab.cli.run(
        "gamma three",
        lab.cwd,
        resume=first.session_id,
        arguments=["--resume-session-at", answer],
    )
    return first.session_id


@scenario
def two_writers(lab: ClaudeLab) -> str:
    """The session is open in a terminal while -p appends to it; then the terminal goes on."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        session = terminal.session_id()
        lab.cli.run("beta from outside", lab.cwd, resume=session)
        terminal.prompt("gamma three")
    return session


def _two_at_once(lab: ClaudeLab, *answered: str) -> str:
    """Two -p processes have one session open; they are answered in this order."""
    gates = {prompt: threading.Event() for prompt in ("beta on the left", "beta on the right")}
    session = lab.cli.run("alpha one", lab.cwd).session_id

    def hold(request: Request) -> Reply | None:
        gate = gates.get(request.prompt)
        return Reply(Hold(gate), Text(f"ECHO: {request.prompt}")) if gate else None

    lab.server.respond = hold
    with ThreadPoolExecutor(2) as pool:
        running: dict[str, Future[ClaudeRun]] = {}
        for prompt in gates:
            running[prompt] = pool.submit(lab.cli.run, prompt, lab.cwd, resume=session)
            lab.server.wait_for_prompt(prompt)
        for prompt in answered:
            gates[prompt].set()
            assert running[prompt].result().code == 0
    lab.cli.run("gamma three", lab.cwd, resume=session)
    return session


@scenario
def two_headless_writers(lab: ClaudeLab) -> str:
    """The second process to begin ends first: its turn is left behind."""
    return _two_at_once(lab, "beta on the right", "beta on the left")


@scenario
def two_headless_writers_in_line(lab: ClaudeLab) -> str:
    """The second process ends last: its turn hangs off a prompt that has no answer before it."""
    return _two_at_once(lab, "beta on the left", "beta on the right")


@scenario
def worktree(lab: ClaudeLab) -> str:
    """--worktree: the session belongs to a worktree that the program made."""
    lab.server.enqueue(Reply(bash("echo a"), bash("echo b")), say("both done"))
    first = lab.cli.run("alpha one", lab.cwd, arguments=["--worktree", "side"])
    inside = lab.cwd / ".claude" / "worktrees" / "side"
    lab.cli.run("beta two", inside, resume=first.session_id)
    lab.cli.run("gamma three", inside, resume=first.session_id)
    return first.session_id


@scenario
def fork_chain(lab: ClaudeLab) -> str:
    """A native fork of prong's fork of a native fork, with parallel tools at the start."""
    lab.server.enqueue(Reply(bash("echo a"), bash("echo b")), say("both done"))
    source = lab.cli.run("alpha one", lab.cwd).session_id
    lab.cli.run("beta two", lab.cwd, resume=source)
    native = lab.cli.run("gamma three", lab.cwd, resume=source, fork=True).session_id
    store, own = ClaudeStore([lab.home.claude]), str(uuid4())
    copy = prong_fork(store, native, turn=2, into=lab.cwd, id_=own)
    lab.cli.run("delta four", lab.cwd, resume=copy)
    return lab.cli.run("epsilon five", lab.cwd, resume=copy, fork=True).session_id


@scenario
def other_folder(lab: ClaudeLab) -> str:
    """Resumed from another project's folder: the lines go to the original file."""
    first = lab.cli.run("alpha one", lab.cwd)
    lab.cli.run("beta elsewhere", lab.home.project("elsewhere"), resume=first.session_id)
    return first.session_id
