"""The command line: parses words, asks `prong.app`, prints."""

from prong.cli.main import main

__all__ = ["main"]
