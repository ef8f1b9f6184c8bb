"""Search commands."""
