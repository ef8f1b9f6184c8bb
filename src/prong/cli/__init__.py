"""The command line: parses words, asks `prong.app`, prints."""

import gc

# A command is over soon, and loading modules makes nothing that would have to be collected.
gc.set_threshold(50_000, 20, 100)

from prong.cli.main import main  # noqa: E402 -- that was before

__all__ = ["main"]
