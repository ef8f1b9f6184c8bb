"""Codex. Evidence for every rule: docs/internals/session-formats.md."""
