"""Running processes and installed programs."""
