-- Whole seconds: what lies within them and outside of the period does no harm to who looks for signals of the period.
SELECT toUInt64(at) * 1000 + at_ms, sensor_id, visitParamExtractString(payload, 'signal_id')
FROM events
WHERE sensor_id IN %(sensors)s
    AND at >= toDateTime(%(first_second)s) AND at <= toDateTime(%(last_second)s)
    AND type = %(type)s
