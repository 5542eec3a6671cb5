INSERT INTO sensors_rejectedsignal (code, sensor_id, recorded_at, count, message, raw, last_at)
VALUES (%s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (code, sensor_id, recorded_at) DO UPDATE SET
    count = sensors_rejectedsignal.count + excluded.count,
    message = excluded.message,
    raw = excluded.raw,
    last_at = excluded.last_at
