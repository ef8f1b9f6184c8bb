"""Codex sessions, forks and workers. Evidence for the rules: docs/internals/session-formats.md."""
