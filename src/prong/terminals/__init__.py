"""Terminals that show agents in panes, one module each."""
