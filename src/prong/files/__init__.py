"""Atomic file changes, and careful reading of other programs' files."""
