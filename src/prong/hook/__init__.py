"""`prong-hook`: what agents call when a turn begins and ends."""
