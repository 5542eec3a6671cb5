-- Give the next positions to committed events that have none, in order of id; count them by type and outcome.
WITH stamped AS (
    UPDATE notifications_event
    SET position = %(last)s + fresh.place
    FROM (
        SELECT id, recorded_at, row_number() OVER (ORDER BY id) AS place
        FROM (
            SELECT id, recorded_at FROM notifications_event WHERE position IS NULL ORDER BY id LIMIT %(limit)s
        ) AS oldest
    ) AS fresh
    WHERE notifications_event.id = fresh.id AND notifications_event.recorded_at = fresh.recorded_at
    RETURNING notifications_event.type, notifications_event.payload
),
named AS (
    SELECT
        CASE WHEN type = ANY(%(counted)s::text[]) THEN type ELSE '' END AS kind,
        CASE WHEN type = ANY(%(counted)s::text[])
            THEN left(coalesce(payload ->> 'became', payload ->> 'data', ''), 12) ELSE '' END AS outcome
    FROM stamped
)
SELECT kind, outcome, count(*) FROM named GROUP BY kind, outcome
