"""One operation over many instances: chosen, tried out, carried out and undone."""
