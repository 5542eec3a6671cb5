"""What alerts and events name as their subject."""

EVENT_PREFIX = "coordination/"
READER_PREFIX = "reader/"


def subject_of(event: int) -> str:
    return f"{EVENT_PREFIX}{event}"


def subject_of_reader(name: str) -> str:
    return f"{READER_PREFIX}{name}"
