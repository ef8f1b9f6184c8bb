"""MCP tool to check the installation: prong_doctor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prong.mcp.schemas import Arguments
from prong.mcp.shapes import Diagnosis, DoctorFinding
from prong.mcp.tool import Call, Effect, McpTool

if TYPE_CHECKING:
    from prong.app import App


class Doctor(Arguments, frozen=True):
    """Nothing is needed."""


async def prong_doctor(call: Call, _: Doctor) -> Diagnosis:
    def examined(app: App) -> Diagnosis:
        from prong import __version__

        report = app.setup.doctor()
        own = call.own(app)
        return Diagnosis(
            version=__version__,
            warnings=report.warnings,
            findings=[
                DoctorFinding(finding.topic, finding.level.value, finding.message, finding.hint)
                for finding in report.findings
            ],
            own_session=str(own) if own else None,
        )

    return await call.do(examined)


TOOLS = (
    McpTool(
        "prong_doctor",
        "Check the installation",
        "Show which parts of prong and of the agents are installed, what is missing, and what the "
        "user should type.",
        Doctor,
        Diagnosis,
        Effect.READS,
        prong_doctor,
        for_user=True,
    ),
)
