"""Table of all capabilities, with the name of each in every front end.

A cell is a name, or the reason why the front end lacks the capability. A test compares the table
with the actual front ends, so none can gain a feature that the others do not account for.
"""

from prong.model.record import Record


class Missing(Record, frozen=True):
    """Why a front end lacks a capability."""

    reason: str


_A_PERSON = Missing("a person decides this, or does it by hand")
_NO_WEB = Missing("prong has no web front end yet")
_TYPED = Missing("it is typed: it wants more words than a key")


class Capability(Record, frozen=True):
    name: str
    method: str
    """`workers.start` is the method `start` of the service `App.workers`."""
    command: str | Missing
    tool: str | Missing = _A_PERSON
    route: str | Missing = _NO_WEB
    key: str | Missing = _TYPED
    """`SCREEN: KEY` in the terminal UI; `any` means every screen."""


CAPABILITIES = (
    Capability("find turns", "search.find", "find", tool="smart_fork", key="sessions: typing"),
    Capability(
        "bring the index up to date",
        "search.index",
        "index",
        tool=Missing("every search does it"),
        key="sessions: ctrl+r",
    ),
    Capability(
        "see what the index covers",
        "search.state",
        "index",
        tool=Missing("a search tells it"),
        key="sessions: typing",
    ),
    Capability(
        "list sessions", "sessions.list", "list", tool="find_sessions", key="sessions: typing"
    ),
    Capability("show a transcript", "sessions.messages", "show", tool="read_session", key="any: t"),
    Capability(
        "show the lines as written",
        "sessions.raw",
        "show",
        tool=Missing("read_session gives what was said"),
        key=Missing("the transcript shows what was said"),
    ),
    Capability(
        "list turns", "sessions.conversation", "turns", tool="list_turns", key="sessions: enter"
    ),
    Capability(
        "see the code of turns", "code.with_code", "turns", tool="list_turns", key="sessions: enter"
    ),
    Capability(
        "find the snapshots of turns",
        "code.snapshots",
        "turns",
        tool="list_turns",
        key="turns: enter",
    ),
    Capability(
        "keep the code of a turn",
        "code.keep",
        "snapshot",
        tool=Missing("hooks do it after every turn"),
        key=Missing("hooks do it after every turn"),
    ),
    Capability(
        "show what changed in the code",
        "code.diff",
        "diff",
        tool=Missing("an agent has git: worktrees and snapshots are commits"),
        key="any: d",
    ),
    Capability(
        "see what a turn changed",
        "code.change_of",
        "fork",
        tool=Missing("an agent has git: worktrees and snapshots are commits"),
        key="turns: enter",
    ),
    Capability("plan a fork", "forks.plan", "fork", tool="fork_session", key="any: F"),
    Capability("fork a session", "forks.make", "fork", tool="fork_session", key="any: F"),
    Capability(
        "fork a session several times",
        "forks.make_several",
        "fork",
        tool=Missing("fork_session, called several times"),
        key="any: F",
    ),
    Capability(
        "wait for an agent", "sessions.when_idle", "fork", tool="clone_worker", key="fork: w"
    ),
    Capability("resume a session", "sessions.resume", "resume", tool="spawn_workers", key="any: r"),
    Capability(
        "show lineage",
        "sessions.tree",
        "tree",
        tool=Missing("find_sessions tells the parent of each session"),
        key="any: f3",
    ),
    Capability(
        "plan a worker",
        "workers.planner.plan",
        "run",
        tool="spawn_workers",
        key=Missing("prong run: a worker begins with words"),
    ),
    Capability(
        "start a worker",
        "workers.starter.start",
        "run",
        tool="spawn_workers",
        key=Missing("prong run: a worker begins with words"),
    ),
    Capability(
        "see that a worker has started",
        "workers.states.ready",
        "run",
        tool="spawn_workers",
        key="any: F",
    ),
    Capability("fork a worker", "workers.forks.fork", "fork", tool="fork_session", key="any: F"),
    Capability(
        "run a fork in a pane", "workers.starter.open", "fork", tool="smart_fork", key="any: F"
    ),
    Capability("list workers", "workers.states.all", "ps", tool="list_workers", key="any: f4"),
    Capability(
        "tell what a worker does",
        "workers.states.status",
        "status",
        tool="worker_status",
        key="any: f4",
    ),
    Capability(
        "give a worker a prompt",
        "workers.prompts.send",
        "send",
        tool="send_to_worker",
        key="workers: s",
    ),
    Capability(
        "get the answer of a worker",
        "workers.prompts.reply",
        "send",
        tool="send_to_worker",
        key="workers: l",
    ),
    Capability(
        "give an idle worker a prompt whose answer is wanted",
        "workers.prompts.ask",
        "send",
        tool="send_to_worker",
        key=Missing("s sends the prompt, and l shows what is answered"),
    ),
    Capability(
        "get the answer to one's own prompt",
        "workers.prompts.answer",
        "send",
        tool="send_to_worker",
        key=Missing("s sends the prompt, and l shows what is answered"),
    ),
    Capability(
        "wait for workers", "workers.states.wait", "wait", tool="wait_workers", key="workers: w"
    ),
    Capability("show a worker's pane", "workers.attach", "attach", key="workers: a"),
    Capability(
        "read what was said in a worker",
        "workers.prompts.log",
        "log",
        tool="read_session",
        key="workers: l",
    ),
    Capability(
        "press keys in a worker's pane",
        "workers.prompts.press",
        "key",
        key=Missing("attach: keys then go to the pane itself"),
    ),
    Capability(
        "interrupt the turn of a worker",
        "workers.prompts.interrupt",
        "key",
        key=Missing("attach: Escape then goes to the pane itself"),
    ),
    Capability(
        "clone a worker", "workers.cloner.clone", "clone", tool="clone_worker", key="workers: c"
    ),
    Capability("stop a worker", "workers.stop", "stop", tool="stop_worker", key="workers: x"),
    Capability("forget a worker", "workers.forget", "stop", key="workers: X"),
    Capability("restart a worker", "workers.starter.restart", "restart", key="workers: R"),
    Capability("rename a worker", "workers.rename", "rename", key="workers: n"),
    Capability("list worktrees", "code.worktrees.list", "worktrees"),
    Capability("plan the removal of worktrees", "code.worktrees.plan_prune", "worktrees"),
    Capability("remove worktrees", "code.worktrees.prune", "worktrees"),
    Capability("see whether hooks are installed", "setup.hooks.status", "hooks"),
    Capability("plan hooks", "setup.hooks.plan_install", "hooks"),
    Capability("plan to take hooks out", "setup.hooks.plan_remove", "hooks"),
    Capability("install and remove hooks", "setup.hooks.change", "hooks"),
    Capability(
        "start an agent with hooks",
        "setup.hooks.for_one_run",
        "resume",
        tool="spawn_workers",
        key="any: r",
    ),
    Capability("see whether agents know the MCP server", "setup.mcp.status", "doctor"),
    Capability("plan the MCP server of an agent", "setup.mcp.plan_install", "mcp"),
    Capability("plan to take the MCP server out", "setup.mcp.plan_remove", "mcp"),
    Capability("tell an agent of the MCP server", "setup.mcp.change", "mcp"),
    Capability("plan an export", "sessions.plan_export", "export"),
    Capability("export sessions as Markdown", "sessions.export", "export"),
    Capability("have qmd read the exports", "search.refresh_qmd", "export"),
    Capability("see what is scheduled", "setup.schedule.status", "schedule"),
    Capability("plan a schedule", "setup.schedule.plan_install", "schedule"),
    Capability("plan the end of a schedule", "setup.schedule.plan_remove", "schedule"),
    Capability("schedule index and exports", "setup.schedule.change", "schedule"),
    Capability(
        "check the installation",
        "setup.doctor",
        "doctor",
        tool="prong_doctor",
        key=Missing("it prints what to type, where one can type it"),
    ),
    Capability(
        "clean up after a killed fork",
        "setup.fix",
        "doctor",
        key=Missing("it prints what to type, where one can type it"),
    ),
    Capability(
        "try it on samples",
        "setup.demo",
        "demo",
        tool=Missing("an agent has real sessions to work on"),
        key=Missing("it prints the commands to type; a key would hide them"),
    ),
    Capability(
        "resolve a session and a turn",
        "sessions.resolve",
        Missing("every command that takes a SESSION does this"),
        tool=Missing("every tool that takes a session does this"),
        key=Missing("the cursor is on the place that is meant"),
    ),
)
