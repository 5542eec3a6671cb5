-- SQLite has no LATERAL: the rows are found by the ids that the same walk through the index gives.
SELECT message.*
FROM json_each(%(keys)s) AS wanted
JOIN messaging_message AS message ON message.id IN (
    SELECT id
    FROM messaging_message
    WHERE database_id = %(database)s AND subsystem_id = wanted.value
      AND direction = 'request' AND status = 'waiting' AND moving_from = '' AND set_aside_at IS NULL
    ORDER BY is_postponed, isolation, created_at, id
    LIMIT %(most)s
)
ORDER BY message.is_postponed, message.isolation, message.created_at, message.id
LIMIT %(most)s
