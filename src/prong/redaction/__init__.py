"""Text for a model or a file: unseen characters taken out, keys masked."""
