"""Launch workers: new ones, forks and clones."""
