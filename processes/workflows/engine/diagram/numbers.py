"""Numbers of a file, believed only within limits; and numbers of a drawing, written short."""

import math

FARTHEST = 100_000.0


def find_number(text: str) -> float | None:
    """Read a coordinate; None when it is missing, no finite number, or too far out to be meant."""
    if not 0 < len(text) <= 40:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and abs(value) <= FARTHEST else None


def find_size(text: str) -> float | None:
    """Read a width or a height; None when there is nothing of that size to draw."""
    value = find_number(text)
    return value if value is not None and value >= 1 else None


def write_number(value: float) -> str:
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
