"""`python -m gpcatalog`."""

from gpcatalog.start import main

main()
