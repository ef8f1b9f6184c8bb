"""All MCP tools, in the order in which clients list them."""

from prong.mcp import tools_doctor, tools_fork, tools_read, tools_search, tools_spawn, tools_workers

TOOLS = (
    *tools_search.TOOLS,
    *tools_read.TOOLS,
    *tools_fork.TOOLS,
    *tools_spawn.TOOLS,
    *tools_workers.TOOLS,
    *tools_doctor.TOOLS,
)
