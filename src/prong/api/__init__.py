"""Python API, and operations that combine services for agents."""
