"""Codex settings: hooks, MCP servers, trusted folders and permissions."""
