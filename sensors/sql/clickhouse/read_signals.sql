-- The newest of whole seconds, which is most of what is asked: a condition on each row's millisecond costs a third more.
SELECT
    sensor_id,
    toUInt64(at) * 1000 + at_ms,
    id,
    data,
    toUInt64(received_at) * 1000 + received_ms
FROM signals
WHERE sensor_id IN %(sensors)s
    AND at >= toDateTime(%(first_second)s) AND at <= toDateTime(%(last_second)s)
ORDER BY at DESC, at_ms DESC, sensor_id DESC, id DESC, version DESC
LIMIT %(copies)s
