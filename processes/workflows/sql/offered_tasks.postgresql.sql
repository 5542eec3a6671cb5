-- The tasks that are offered to a person under any of several names, by deadline and priority: of each name the first
-- ones from the index. A sort of all that is offered would cost with every open task.
SELECT item_id
FROM unnest(%(kinds)s::text[], %(names)s::text[]) AS place (kind, name)
CROSS JOIN LATERAL (
    SELECT item_id, deadline_at, priority FROM workflows_candidate
    WHERE kind = place.kind AND name = place.name AND is_waiting
    ORDER BY deadline_at, priority DESC, item_id
    LIMIT %(most)s
) AS found
GROUP BY item_id, deadline_at, priority
ORDER BY deadline_at, priority DESC, item_id
LIMIT %(limit)s OFFSET %(offset)s
