"""`python -m prong.hook`: the command in the agents' settings files."""

from prong.hook.program import main

main()
