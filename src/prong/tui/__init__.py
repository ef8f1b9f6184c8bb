"""The terminal UI (`prong ui`): search, read and fork sessions, and manage workers."""
