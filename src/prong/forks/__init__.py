"""Forks: the plan, making one, and its workspace."""
