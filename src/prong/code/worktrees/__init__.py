"""Worktrees made from snapshots, and removing them again."""
