"""Timings and ratios, on a store of sessions that is the same on every machine."""
