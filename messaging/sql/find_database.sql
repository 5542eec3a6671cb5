SELECT database.id, database.name, database.created_at, database.active AND enterprise.active, database.enterprise_id
FROM messaging_exchangedatabase AS database
JOIN messaging_enterprise AS enterprise ON enterprise.id = database.enterprise_id
WHERE database.id = %s
