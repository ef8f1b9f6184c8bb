"""Transcripts as text: for a new agent (seed prompts) and for readers (Markdown)."""
