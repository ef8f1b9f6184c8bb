"""Installation and maintenance: doctor, hooks, MCP, schedules, demo."""
