"""Mechanisms taken away, one at a time: a test must notice each. `make mutants` runs the whole table."""
