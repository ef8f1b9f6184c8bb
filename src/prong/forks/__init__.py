"""Forks: plans, creation, launch commands and workspaces."""
