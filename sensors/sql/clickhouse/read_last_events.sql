-- Of each sensor the newest event of each type before a time; copies stand together, and the first is taken.
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
    AND at <= toDateTime(%(last_second)s)
    AND moment < %(end)s
    AND type IN %(types)s
ORDER BY sensor_id, type, moment DESC, id DESC
LIMIT 1 BY sensor_id, type
