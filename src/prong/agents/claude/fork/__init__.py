"""Write forks as new session files of Claude Code."""
