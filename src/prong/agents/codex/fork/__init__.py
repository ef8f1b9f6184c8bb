"""Forks as new rollout files of Codex."""
