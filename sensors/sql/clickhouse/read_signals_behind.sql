-- The limit keeps the sort small whatever the period holds; copies stand together, the one to be shown first.
SELECT
    sensor_id,
    toUInt64(at) * 1000 + at_ms AS moment,
    id,
    data,
    toUInt64(received_at) * 1000 + received_ms AS received
FROM signals
WHERE sensor_id IN %(sensors)s
    AND at >= toDateTime(%(first_second)s) AND at <= toDateTime(%(last_second)s)
    AND moment >= %(start)s AND moment < %(end)s
    AND (moment, sensor_id, id) < (toUInt64(%(before_at)s), %(before_sensor)s, %(before_id)s)
ORDER BY moment DESC, sensor_id DESC, id DESC, version DESC
LIMIT %(copies)s
