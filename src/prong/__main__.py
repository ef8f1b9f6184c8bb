"""`python -m prong`."""

from prong.cli import main

main()
