"""The installation: doctor, hooks, MCP, schedules, demo."""
