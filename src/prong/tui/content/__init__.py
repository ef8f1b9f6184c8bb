"""What the screens show: rows, previews and texts."""
