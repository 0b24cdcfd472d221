"""`python -m assent`: the command line."""

from assent.cli import main

main()
