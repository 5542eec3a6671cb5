-- Give the next positions to committed events that have none, in order of id. One statement serves both databases.
UPDATE notifications_event
SET position = %(last)s + fresh.place
FROM (
    SELECT id, recorded_at, row_number() OVER (ORDER BY id) AS place
    FROM (
        SELECT id, recorded_at FROM notifications_event WHERE position IS NULL ORDER BY id LIMIT %(limit)s
    ) AS oldest
) AS fresh
WHERE notifications_event.id = fresh.id AND notifications_event.recorded_at = fresh.recorded_at
