"""Processes: whether one still runs, and which programs are installed."""
