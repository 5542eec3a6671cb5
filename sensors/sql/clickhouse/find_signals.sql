SELECT sensor_id, toUInt64(at) * 1000 + at_ms AS moment, id, data, toUInt64(received_at) * 1000 + received_ms
FROM signals
WHERE (sensor_id, at, at_ms, id) IN wanted
ORDER BY moment, sensor_id, id, version DESC
LIMIT 1 BY moment, sensor_id, id
