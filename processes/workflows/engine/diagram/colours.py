"""The colours of a diagram. It has a background of its own, so it looks the same on light and dark pages."""

from dataclasses import dataclass

PAPER = "#ffffff"
PAPER_EDGE = "#dbe2ea"
TEXT = "#1e293b"
INK = "#334155"
LINE = "#526175"
FRAME = "#8594a8"
SURFACE = "#f8fafc"
BAND = "#eef2f6"

ACCENT = "#006f8a"
ACCENT_TINT = "#d3f1f7"
ALARM = "#c81e1e"
ALARM_TINT = "#fde4e4"
DONE = "#3f7d57"
DONE_TINT = "#eaf6ee"
OFFER = "#8f5600"
OFFER_TINT = "#fff1d6"
PAUSE = "#6b4bb3"
PAUSE_TINT = "#eee8fb"
FADED = "#5f6d80"


@dataclass(frozen=True, slots=True)
class ShapeStyle:
    """The colours of a shape."""

    fill: str
    stroke: str


PLAIN = ShapeStyle(SURFACE, INK)
ACTIVE = ShapeStyle(ACCENT_TINT, ACCENT)
BROKEN = ShapeStyle(ALARM_TINT, ALARM)
FINISHED = ShapeStyle(DONE_TINT, DONE)
OFFERED = ShapeStyle(OFFER_TINT, OFFER)
PAUSED = ShapeStyle(PAUSE_TINT, PAUSE)
GONE = ShapeStyle(BAND, FADED)
