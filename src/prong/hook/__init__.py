"""`prong-hook`: the program that agents call when a turn begins and ends."""
