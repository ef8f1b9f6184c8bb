"""The code of turns: snapshots in git, diffs, and worktrees made from them."""
