-- The limit keeps the sort small whatever the period holds; copies stand together.
SELECT
    id,
    type,
    sensor_id,
    toUInt64(at) * 1000 + at_ms AS moment,
    toUInt64(recorded_at) * 1000 + recorded_ms AS recorded,
    correlation_id,
    payload
FROM events
WHERE sensor_id IN %(sensors)s
    AND at >= toDateTime(%(first_second)s) AND at <= toDateTime(%(last_second)s)
    AND moment >= %(start)s AND moment < %(end)s
    AND type IN %(types)s
    AND (moment, id) < (toUInt64(%(before_at)s), toUInt64(%(before_id)s))
ORDER BY moment DESC, id DESC
LIMIT %(copies)s
