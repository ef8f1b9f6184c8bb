"""Forks as new session files of Claude Code."""
