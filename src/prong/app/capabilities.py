"""Every capability once, with its name in each front end.

A cell is a name, or the reason why there is none. A test compares the table with the front ends
as they are, so none of them can grow something that the others do not know of.
"""

from prong.record import Record


class Missing(Record, frozen=True):
    """Why a front end has no such thing."""

    reason: str


_NO_MCP = Missing("the MCP server comes with part 6")
_NO_WEB = Missing("there is no web front end yet")
_NO_UI = Missing("the terminal UI comes with part 7")


class Capability(Record, frozen=True):
    name: str
    method: str
    """The method of `App`."""
    command: str | Missing
    tool: str | Missing = _NO_MCP
    route: str | Missing = _NO_WEB
    key: str | Missing = _NO_UI


CAPABILITIES = (
    Capability("find turns", "find", "find"),
    Capability("bring the index up to date", "index", "index"),
    Capability("see what the index covers", "index_state", "index"),
    Capability("list sessions", "list_sessions", "list"),
    Capability("show a transcript", "messages", "show"),
    Capability("show the lines as written", "raw", "show"),
    Capability("list turns", "conversation", "turns"),
    Capability("see the code of turns", "with_code", "turns"),
    Capability("find the snapshots of turns", "snapshots", "turns"),
    Capability("keep the code of a turn", "keep_code", "snapshot"),
    Capability("show what changed in the code", "diff_code", "diff"),
    Capability("see what a turn changed", "change_of", "fork"),
    Capability("plan a fork", "plan_fork", "fork"),
    Capability("fork a session", "fork", "fork"),
    Capability("fork a session several times", "forks", "fork"),
    Capability("wait for an agent", "when_idle", "fork"),
    Capability("resume a session", "resume", "resume"),
    Capability("show lineage", "tree", "tree"),
    Capability("list worktrees", "worktrees", "worktrees"),
    Capability("plan the removal of worktrees", "plan_prune", "worktrees"),
    Capability("remove worktrees", "prune", "worktrees"),
    Capability("see whether hooks are installed", "hooks", "hooks"),
    Capability("plan hooks", "plan_hooks", "hooks"),
    Capability("install and remove hooks", "change_hooks", "hooks"),
    Capability("start an agent with hooks", "hooked", "resume"),
    Capability("plan an export", "plan_export", "export"),
    Capability("export sessions as Markdown", "export", "export"),
    Capability("have qmd read the exports", "refresh_qmd", "export"),
    Capability("see what is scheduled", "schedules", "schedule"),
    Capability("plan a schedule", "plan_schedule", "schedule"),
    Capability("plan the end of a schedule", "plan_unschedule", "schedule"),
    Capability("schedule index and exports", "change_schedule", "schedule"),
    Capability("check the installation", "doctor", "doctor"),
    Capability("clean up after a killed fork", "fix", "doctor"),
    Capability(
        "try it on samples",
        "demo",
        "demo",
        tool=Missing("an agent has real sessions to work on"),
        key=Missing("it prints the commands to type; a key would hide them"),
    ),
    Capability(
        "resolve a session and a turn",
        "resolve",
        Missing("every command that takes a SESSION does this"),
    ),
)
