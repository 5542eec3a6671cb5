-- How many saved sessions are due from each moment up to, not including, its partner; each count ends at the limit.
SELECT (
    SELECT count(*)
    FROM (
        SELECT 1
        FROM notifications_repeatsession
        WHERE status = 'saved' AND due_at >= starts.value AND due_at < ends.value
        LIMIT %s
    )
)
FROM json_each(%s) AS starts
JOIN json_each(%s) AS ends ON ends.key = starts.key
ORDER BY starts.key
