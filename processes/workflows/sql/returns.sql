SELECT number, parent
FROM workflows_version
-- In these words, without parameters: the index of returns answers it, however many versions there are.
WHERE instance_id = %(instance)s AND parent < number - 1
ORDER BY number DESC
LIMIT %(most)s
