"""qmd search engine."""
