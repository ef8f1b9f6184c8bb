"""Files that appear whole or not at all, and files of others read with care."""
