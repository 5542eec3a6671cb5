INSERT INTO workflows_instance (
    id, definition_id, revision_id, record, status, head, epoch, open_incidents, started_at, ended_at, start_key,
    correlation_id, shadow
)
VALUES (
    %(instance)s, %(definition)s, %(revision)s, %(record)s, %(status)s, %(number)s, %(epoch)s, 0, %(at)s, %(ended_at)s,
    %(start_key)s, %(chain)s, %(shadow)s
)
RETURNING id, status
