-- The oldest of each sender, of the lane alone.
SELECT oldest.*
FROM unnest(%(keys)s::text[]) AS wanted (key),
LATERAL (
    SELECT *
    FROM messaging_message
    WHERE database_id = %(database)s AND device_id = wanted.key AND subsystem_id = ANY(%(lane)s::text[])
      AND direction = 'request' AND status = 'waiting' AND moving_from = '' AND set_aside_at IS NULL
    ORDER BY is_postponed, isolation, created_at, id
    LIMIT %(most)s
) AS oldest
ORDER BY oldest.is_postponed, oldest.isolation, oldest.created_at, oldest.id
LIMIT %(most)s
