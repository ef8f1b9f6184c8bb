"""What combines services: the Python API, and what agents ask for."""
