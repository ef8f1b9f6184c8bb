"""Git worktrees created from snapshots or commits, and their removal."""
