INSERT INTO sensors_rejectedsignal (code, sensor_id, recorded_at, count, message, raw, last_at, correlation_id)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (recorded_at, code, sensor_id) DO UPDATE SET
    count = sensors_rejectedsignal.count + excluded.count,
    message = excluded.message,
    raw = excluded.raw,
    last_at = excluded.last_at,
    correlation_id = excluded.correlation_id
