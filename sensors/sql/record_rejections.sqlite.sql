INSERT INTO sensors_rejectedsignal (code, sensor_id, recorded_at, count, message, raw, last_at)
SELECT
    code,
    CASE
        WHEN EXISTS (
            SELECT 1 FROM sensors_rejectedsignal AS held
            WHERE held.recorded_at = fresh.recorded_at AND held.code = fresh.code AND held.sensor_id = fresh.sensor_id
        ) THEN sensor_id
        WHEN (
            SELECT count(*) FROM sensors_rejectedsignal AS others
            WHERE others.recorded_at = fresh.recorded_at AND others.code = fresh.code AND others.sensor_id <> ''
        ) < most THEN sensor_id
        ELSE ''
    END,
    recorded_at,
    count,
    message,
    raw,
    last_at
FROM (
    SELECT %s AS code, %s AS sensor_id, %s AS recorded_at, %s AS count, %s AS message, %s AS raw, %s AS last_at, %s AS most
) AS fresh
WHERE true
ON CONFLICT (recorded_at, code, sensor_id) DO UPDATE SET
    count = sensors_rejectedsignal.count + excluded.count,
    message = excluded.message,
    raw = excluded.raw,
    last_at = excluded.last_at
