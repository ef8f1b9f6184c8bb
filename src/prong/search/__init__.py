"""Search over sessions: the built-in index, the sentence model and qmd."""
