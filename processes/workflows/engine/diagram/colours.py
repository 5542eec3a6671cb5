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

_OFTEN, _LONG = "#1f4e86", "#7a4100"
# Each ramp is one hue that darkens evenly, so it can be told apart without colours, too; the name of an element can be
# read on the darkest (4.7 : 1). Blue and orange are the pair that every kind of colour blindness tells apart.
OFTEN = tuple(ShapeStyle(fill, _OFTEN) for fill in ("#dceaf8", "#c3dbf3", "#a2c8ec", "#7cb1e2", "#5598d3"))
LONG = tuple(ShapeStyle(fill, _LONG) for fill in ("#fcecd2", "#fad9a8", "#f5c078", "#eda24a", "#dc8420"))
