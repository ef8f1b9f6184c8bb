"""All MCP tools, in the order in which clients list them."""

from __future__ import annotations

from prong import __version__
from prong.mcp import tools_fork, tools_read, tools_search, tools_spawn, tools_workers
from prong.mcp.call import Call
from prong.mcp.schemas import Arguments
from prong.mcp.shapes import Diagnosis, DoctorFinding
from prong.mcp.tool import Effect, tool


class Doctor(Arguments, frozen=True):
    """Nothing is needed."""


@tool(
    "Check the installation",
    "Show which parts of prong and of the agents are installed, what is missing, and what the "
    "user should type.",
    Effect.READS,
    for_user=True,
)
def prong_doctor(call: Call, _: Doctor) -> Diagnosis:
    report = call.app.setup.doctor()
    return Diagnosis(
        version=__version__,
        warnings=report.warnings,
        findings=[
            DoctorFinding(finding.topic, finding.level.value, finding.message, finding.hint)
            for finding in report.findings
        ],
        own_session=str(call.own) if call.own else None,
    )


TOOLS = (
    tools_search.smart_fork,
    tools_search.find_sessions,
    tools_read.read_session,
    tools_read.list_turns,
    tools_fork.fork_session,
    tools_spawn.spawn_workers,
    tools_workers.list_workers,
    tools_workers.worker_status,
    tools_workers.wait_workers,
    tools_workers.send_to_worker,
    tools_workers.clone_worker,
    tools_workers.stop_worker,
    prong_doctor,
)
