"""Processes that ship with the product: upload them as they are, or change them to taste."""
