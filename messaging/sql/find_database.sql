SELECT database.id, database.name, database.created_at, database.enterprise_id,
       database.active AND enterprise.active AS active
FROM messaging_exchangedatabase AS database
JOIN messaging_enterprise AS enterprise ON enterprise.id = database.enterprise_id
WHERE database.id = %s
