"""Snapshots: the code of a turn as a commit under a hidden ref."""
