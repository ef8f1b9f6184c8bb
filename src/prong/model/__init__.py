"""The vocabulary: frozen values that every layer shares. Nothing here reads a file."""
