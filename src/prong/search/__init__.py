"""Searching sessions: the built-in index, the sentence model, qmd."""
