"""Listing, naming, reading and exporting sessions."""
