"""Workers: agents that run under a name."""
