"""The MCP server: an agent finds and forks for itself. docs/internals/mcp.md tells how it works."""
