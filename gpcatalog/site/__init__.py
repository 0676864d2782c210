"""A static site of a fleet: what each database is summed up to, and what of the site is up to date."""
