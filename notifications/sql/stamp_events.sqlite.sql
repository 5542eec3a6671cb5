-- Give the next positions to committed events that have none, in order of id; return the type and outcome of each.
UPDATE notifications_event
SET position = %(last)s + fresh.place
FROM (
    SELECT id AS event_id, row_number() OVER (ORDER BY id) AS place
    FROM (SELECT id FROM notifications_event WHERE position IS NULL ORDER BY id LIMIT %(limit)s) AS oldest
) AS fresh
WHERE notifications_event.id = fresh.event_id
RETURNING
    CASE WHEN type IN (SELECT value FROM json_each(%(counted)s)) THEN type ELSE '' END,
    CASE WHEN type IN (SELECT value FROM json_each(%(counted)s))
        THEN substr(coalesce(json_extract(payload, '$.became'), json_extract(payload, '$.data'), ''), 1, 12)
        ELSE '' END,
    1
