-- Every row is of the same minute. What a minute already holds is read once: a sensor that has its row there keeps it,
-- a new one gets a row while its code has room, and the rest is counted under the empty id. In order of the key, so
-- that two consumers never wait for each other in a circle.
WITH fresh AS (
    SELECT *
    FROM unnest(
        %b::text[], %b::text[], %b::timestamptz[], %b::bigint[], %b::text[], %b::text[], %b::timestamptz[], %b::integer[]
    ) AS fresh (code, sensor_id, recorded_at, count, message, raw, last_at, most)
),
held AS MATERIALIZED (
    SELECT code, sensor_id
    FROM sensors_rejectedsignal
    WHERE recorded_at = (SELECT min(recorded_at) FROM fresh) AND sensor_id <> ''
),
ranked AS (
    SELECT
        fresh.*,
        held.sensor_id IS NOT NULL AS has_row,
        row_number() OVER (PARTITION BY fresh.code, held.sensor_id IS NULL ORDER BY fresh.sensor_id)
            + (SELECT count(*) FROM held AS others WHERE others.code = fresh.code) AS place
    FROM fresh
    LEFT JOIN held ON held.code = fresh.code AND held.sensor_id = fresh.sensor_id
),
placed AS (
    SELECT *, CASE WHEN has_row OR place <= most THEN sensor_id ELSE '' END AS kept_id
    FROM ranked
)
INSERT INTO sensors_rejectedsignal (code, sensor_id, recorded_at, count, message, raw, last_at)
SELECT
    code,
    kept_id,
    recorded_at,
    sum(count),
    (array_agg(message ORDER BY sensor_id))[1],
    (array_agg(raw ORDER BY sensor_id))[1],
    max(last_at)
FROM placed
GROUP BY code, kept_id, recorded_at
ORDER BY code, kept_id
ON CONFLICT (recorded_at, code, sensor_id) DO UPDATE SET
    count = sensors_rejectedsignal.count + excluded.count,
    message = excluded.message,
    raw = excluded.raw,
    last_at = excluded.last_at
