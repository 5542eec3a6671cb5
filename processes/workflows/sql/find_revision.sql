-- A revision of a definition: the one that is named, else the newest; and the shadow that hears its instances.
SELECT revision.id, revision.number, definition.enterprise_id, revision.is_executable, shadow.id
FROM workflows_definition AS definition
JOIN workflows_revision AS revision ON revision.definition_id = definition.key
LEFT JOIN workflows_shadow AS shadow ON shadow.definition_id = definition.key AND shadow.against_id = revision.id
WHERE definition.key = %s AND revision.number = coalesce(CAST(%s AS integer), definition.newest)
