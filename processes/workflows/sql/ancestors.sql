-- A version and those it was made from, back to the first.
WITH RECURSIVE line (number, parent) AS (
    SELECT number, parent FROM workflows_version WHERE instance_id = %(instance)s AND number = %(number)s
    UNION ALL
    SELECT earlier.number, earlier.parent
    FROM line JOIN workflows_version AS earlier ON earlier.instance_id = %(instance)s AND earlier.number = line.parent
)
SELECT number FROM line
