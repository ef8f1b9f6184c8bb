"""The code of every turn: snapshots in git, and worktrees made from them.

Imported by `prong-hook` inside somebody's agent, so it is the standard library and little else.
"""
