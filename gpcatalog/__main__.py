"""`python -m gpcatalog`."""

from gpcatalog.bootstrap import main

main()
