INSERT INTO records_changerecord (kind, object_id, action, before, after, actor, correlation_id, reverts_id, at)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
