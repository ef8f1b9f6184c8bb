"""The settings of Claude Code: hooks, MCP servers, trusted folders."""
