-- For each of some times the first id of the deliveries created then or later, found by halving: ids rise with the time,
-- so no index of it is needed. For an empty table there is no row.
WITH RECURSIVE halving (place, at, low, high) AS (
    SELECT asked.place, asked.at, ends.low, ends.high + 1
    FROM
        unnest(%s::timestamptz[]) WITH ORDINALITY AS asked (at, place),
        (SELECT min(id) AS low, max(id) AS high FROM notifications_delivery) AS ends
    UNION ALL
    SELECT
        place,
        at,
        CASE WHEN found.created_at < at THEN found.id + 1 ELSE low END,
        CASE WHEN found.created_at < at THEN high ELSE (low + high) / 2 END
    FROM halving, LATERAL (
        SELECT id, created_at FROM notifications_delivery WHERE id >= (low + high) / 2 ORDER BY id LIMIT 1
    ) AS found
    WHERE low < high
)
SELECT low FROM halving WHERE low >= high ORDER BY place
