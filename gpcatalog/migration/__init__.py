"""Plans and findings turned into SQL scripts."""
