"""Keep what was refused, folded by reason, sensor and minute, so that a storm of bad signals stays a few rows.

Ids that nobody has registered cost their sender nothing, so a minute has a row for the first of them alone.
"""

from collections.abc import Iterable
from datetime import datetime

from config.common.database.sql import bulk_execute
from config.common.text import clean_text
from sensors.ingest.signals import Rejection

MOST_SENSORS = 1000
"""So many sensors have a row of their own in a minute of one reason; those beyond are counted under the empty id.

Consumers do not wait for each other to keep it to the letter: those that write at the same moment may each fill the
room that is left.
"""


def record_rejections(rejections: Iterable[Rejection], *, now: datetime) -> None:
    minute = now.replace(second=0, microsecond=0)
    folded: dict[tuple[str, str], tuple[int, Rejection]] = {}
    for rejection in rejections:
        # Cleaned here, whoever refuses: a refusal that cannot be stored would stop the line for ever.
        key = (rejection.code.value, clean_text(rejection.sensor_id, 64))
        count = folded[key][0] if key in folded else 0
        folded[key] = (count + 1, rejection)
    rows = [
        (code, sensor_id, minute, count, clean_text(last.message, 300), clean_text(last.raw, 1024), now, MOST_SENSORS)
        for (code, sensor_id), (count, last) in sorted(folded.items())
    ]
    bulk_execute("sensors", "record_rejections", rows)
