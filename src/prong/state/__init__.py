"""What prong itself keeps.

`cache.db` remembers what scans saw and may be deleted at any time. `state.db` has facts that must
not be lost; a damaged one is kept, salvaged and rebuilt.
"""
