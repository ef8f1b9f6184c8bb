"""Starting workers: new ones, forks and clones."""
