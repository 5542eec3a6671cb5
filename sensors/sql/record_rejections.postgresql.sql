-- Every row is of the same minute, and of another key. In order of the key, so that two consumers never wait for each
-- other in a circle.
INSERT INTO sensors_rejectedsignal (code, sensor_id, recorded_at, count, message, raw, last_at, correlation_id)
SELECT *
FROM unnest(
    %b::text[], %b::text[], %b::timestamptz[], %b::bigint[], %b::text[], %b::text[], %b::timestamptz[], %b::text[]
) AS fresh (code, sensor_id, recorded_at, count, message, raw, last_at, correlation_id)
ORDER BY code, sensor_id
ON CONFLICT (recorded_at, code, sensor_id) DO UPDATE SET
    count = sensors_rejectedsignal.count + excluded.count,
    message = excluded.message,
    raw = excluded.raw,
    last_at = excluded.last_at,
    correlation_id = excluded.correlation_id
