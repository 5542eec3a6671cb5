-- A revision of a definition: the one that is named, else the newest.
SELECT revision.id, revision.number, definition.enterprise_id
FROM workflows_definition AS definition
JOIN workflows_revision AS revision ON revision.definition_id = definition.key
WHERE definition.key = %s AND revision.number = coalesce(CAST(%s AS integer), definition.newest)
