-- For each of some times the first id of the deliveries created then or later, found by halving: ids rise with the time,
-- so no index of it is needed. For an empty table there is no row.
WITH RECURSIVE halving (place, at, low, high) AS (
    SELECT
        asked.key,
        asked.value,
        (SELECT min(id) FROM notifications_delivery),
        (SELECT max(id) + 1 FROM notifications_delivery)
    FROM json_each(%s) AS asked
    UNION ALL
    SELECT
        place,
        at,
        CASE WHEN created_at < at THEN id + 1 ELSE low END,
        CASE WHEN created_at < at THEN high ELSE (low + high) / 2 END
    FROM halving JOIN notifications_delivery
        ON id = (SELECT min(id) FROM notifications_delivery WHERE id >= (low + high) / 2)
    WHERE low < high
)
SELECT low FROM halving WHERE low >= high ORDER BY place
