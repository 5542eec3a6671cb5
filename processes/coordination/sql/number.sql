UPDATE coordination_appevent SET position = numbered.position
FROM (
    SELECT id, %s + row_number() OVER (ORDER BY id) AS position
    FROM coordination_appevent WHERE position IS NULL ORDER BY id LIMIT %s
) AS numbered
WHERE coordination_appevent.id = numbered.id
