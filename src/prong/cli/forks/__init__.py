"""Commands about forks and their code."""
