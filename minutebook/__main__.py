"""`python -m minutebook` is `om`."""

from minutebook.cli import main

main()
