"""How times are written: with seconds and the zone, since staff compare them with logs."""
