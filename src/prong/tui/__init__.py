"""`prong ui`: the same for eyes. Search, turns, preview, fork."""
