"""The chart of a period: in each bucket what was sent beside what was settled. Shapes for a template, no markup."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext

from config.admin_base.times import format_local
from processes.exchange.statistics import Bucket

WIDTH, HEIGHT = 1000.0, 180.0
GAP = 0.18
"""The share of a bucket that stays empty."""
TICKS = 6
DAYS_OF_WEEK = 7


@dataclass(frozen=True)
class Bar:
    kind: str
    """sent, processed, incorrect."""
    left: float
    top: float
    width: float
    height: float
    title: str


@dataclass(frozen=True)
class BarChart:
    bars: list[Bar]
    ticks: list[str]
    highest: int
    """What the full height stands for."""


def draw_bars(buckets: Sequence[Bucket], end: datetime) -> BarChart:
    highest = max((max(each.sent, each.processed + each.incorrect) for each in buckets), default=0)
    bars = [bar for number, each in enumerate(buckets) for bar in _pair(number, each, len(buckets), highest)]
    return BarChart(bars, _ticks(buckets, end), highest)


def _pair(number: int, bucket: Bucket, count: int, highest: int) -> list[Bar]:
    """Draw what was sent on the left, what was processed and what was incorrect on each other on the right."""
    bucket_width = WIDTH / count
    left, width = number * bucket_width + bucket_width * GAP / 2, bucket_width * (1 - GAP) / 2
    scale = HEIGHT / highest if highest else 0.0
    title = _title(bucket)
    drawn = [("sent", left, 0, bucket.sent), ("processed", left + width, 0, bucket.processed)]
    drawn.append(("incorrect", left + width, bucket.processed, bucket.incorrect))
    return [
        Bar(
            kind,
            round(start, 2),
            round(HEIGHT - (below + value) * scale, 2),
            round(width, 2),
            round(value * scale, 2),
            title,
        )
        for kind, start, below, value in drawn
        if value
    ]


def _title(bucket: Bucket) -> str:
    words = gettext("%(at)s: %(sent)s sent, %(processed)s processed, %(incorrect)s incorrect, %(deadlocks)s deadlocks")
    return words % {
        "at": format_local(bucket.at),
        "sent": bucket.sent,
        "processed": bucket.processed,
        "incorrect": bucket.incorrect,
        "deadlocks": bucket.deadlocks,
    }


def _ticks(buckets: Sequence[Bucket], end: datetime) -> list[str]:
    start = buckets[0].at
    length = end - start
    form = "H:i" if length <= timedelta(days=1) else "MONTH_DAY_FORMAT"
    count = DAYS_OF_WEEK if length == timedelta(days=DAYS_OF_WEEK) else TICKS
    return [format_local(start + length * step / count, form) for step in range(count + 1)]
