"""Deterministic simulation: the product's services under one seeded scheduler, see README.md."""
