"""`python -m gpcatalog`."""

from gpcatalog.cli import main

main()
