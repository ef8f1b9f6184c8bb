"""Settings files of agents: hooks, MCP servers and trust."""
