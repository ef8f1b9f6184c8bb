"""Frozen values that every layer shares. Nothing here reads a file."""
