"""qmd as a search engine."""
