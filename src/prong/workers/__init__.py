"""Workers: named agents that run in a terminal pane or headless."""
