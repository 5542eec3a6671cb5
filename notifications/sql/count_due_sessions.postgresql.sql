-- How many saved sessions are due from each moment up to, not including, its partner; each count ends at the limit.
SELECT counted.number
FROM unnest(%s::timestamptz[], %s::timestamptz[]) WITH ORDINALITY AS stretch (starts_at, ends_at, place)
CROSS JOIN LATERAL (
    SELECT count(*) AS number
    FROM (
        SELECT 1
        FROM notifications_repeatsession
        WHERE status = 'saved' AND due_at >= stretch.starts_at AND due_at < stretch.ends_at
        LIMIT %s
    ) AS due
) AS counted
ORDER BY stretch.place
