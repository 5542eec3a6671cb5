WITH RECURSIVE line (id, parent_id) AS (
    SELECT id, parent_id FROM coordination_dummynode WHERE id = %s
    UNION
    SELECT node.id, node.parent_id FROM coordination_dummynode AS node JOIN line ON node.id = line.parent_id
)
SELECT id, parent_id FROM line
