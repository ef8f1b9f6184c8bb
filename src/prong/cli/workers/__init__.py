"""Worker commands."""
