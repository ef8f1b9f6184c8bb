"""`python -m prong.hook`: the command that settings files of agents name."""

from prong.hook.program import main

main()
