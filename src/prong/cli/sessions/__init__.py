"""Session commands."""
