"""Sanitizing of text for a model or a file: invisible characters removed, secrets masked."""
