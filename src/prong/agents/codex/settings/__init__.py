"""The settings of Codex: hooks, MCP servers, trusted folders, permissions."""
