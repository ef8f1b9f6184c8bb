"""MCP server that lets agents search and fork sessions (docs/internals/mcp.md)."""
