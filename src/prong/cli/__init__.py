"""The command line: parses arguments, calls `prong.app`, prints results."""

import gc

# Commands are short, and importing modules creates no garbage: collect rarely.
gc.set_threshold(50_000, 20, 100)

from prong.cli.main import main  # noqa: E402 -- that was before

__all__ = ["main"]
