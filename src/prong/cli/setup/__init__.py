"""Setup commands."""
