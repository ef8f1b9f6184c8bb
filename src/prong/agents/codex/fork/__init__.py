"""Forks of Codex sessions, as new rollout files."""
