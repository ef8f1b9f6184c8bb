"""Content of the screens: rows, previews and text."""
