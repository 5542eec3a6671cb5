WITH RECURSIVE line (id, parent_id) AS (
    SELECT id, "{parent}" FROM "{table}" WHERE id = %s
    UNION
    SELECT node.id, node."{parent}" FROM "{table}" AS node JOIN line ON node.id = line.parent_id
)
SELECT id, parent_id FROM line
