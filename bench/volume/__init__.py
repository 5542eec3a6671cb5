"""A database of any size: every table that a page or a call lists, filled in minutes."""
