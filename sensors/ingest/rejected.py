"""Keep what was refused, folded by reason, sensor and minute, so that a storm of bad signals stays a few rows."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import connection

from config.common import sql
from config.common.text import clean_text
from sensors.ingest.signals import Rejection


def record_rejections(rejections: Iterable[Rejection], *, now: datetime) -> None:
    minute = now.replace(second=0, microsecond=0)
    folded: dict[tuple[str, str], tuple[int, Rejection]] = {}
    for rejection in rejections:
        # Cleaned here, whoever refuses: a refusal that cannot be stored would stop the line for ever.
        key = (rejection.code.value, clean_text(rejection.sensor_id, 64))
        count = folded[key][0] if key in folded else 0
        folded[key] = (count + 1, rejection)
    if not folded:
        return
    rows = [
        (code, sensor_id, _time(minute), count, clean_text(last.message, 300), clean_text(last.raw, 1024), _time(now))
        for (code, sensor_id), (count, last) in sorted(folded.items())
    ]
    with connection.cursor() as cursor:
        cursor.executemany(sql.load("sensors", "record_rejection"), rows)


def _time(moment: datetime) -> Any:
    return connection.ops.adapt_datetimefield_value(moment)
