"""Where agents run that a person can see: one module for each terminal."""
