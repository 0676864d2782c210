"""A static site of a fleet: the summary of each database, and the state of the site."""
