"""Transcripts in words: what an agent said and did, as text for another one."""
