"""What prong itself keeps: a cache of what scans saw, which may be deleted at any time."""
