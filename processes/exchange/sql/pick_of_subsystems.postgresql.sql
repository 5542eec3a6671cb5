-- The oldest of each subsystem of the lane: what waits in other lanes is not read.
SELECT oldest.*
FROM unnest(%(keys)s::text[]) AS wanted (key),
LATERAL (
    SELECT *
    FROM messaging_message
    WHERE database_id = %(database)s AND subsystem_id = wanted.key
      AND direction = 'request' AND status = 'waiting' AND moving_from = '' AND set_aside_at IS NULL
    ORDER BY is_postponed, isolation, created_at, id
    LIMIT %(most)s
) AS oldest
ORDER BY oldest.is_postponed, oldest.isolation, oldest.created_at, oldest.id
LIMIT %(most)s
