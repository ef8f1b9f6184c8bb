"""What prong itself keeps.

`cache.db` remembers what scans saw and may be deleted at any time. `state.db` has facts that must
not be lost; what of it the session files tell as well comes back when it is.
"""
