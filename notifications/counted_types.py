"""The types of events that are counted by minute, for charts: a fixed few, so that the counts stay few."""

_counted: set[str] = set()


def count_by_minute(*types: str) -> None:
    """Have the sequencer count the events of these types by the minute and by outcome."""
    _counted.update(types)


def counted_types() -> tuple[str, ...]:
    return tuple(sorted(_counted))
