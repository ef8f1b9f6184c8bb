"""Fork and worktree commands."""
