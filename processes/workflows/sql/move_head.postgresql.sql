UPDATE workflows_instance
SET head = %(number)s, epoch = %(epoch)s, revision_id = %(revision)s, ended_at = %(ended_at)s,
    status = CASE WHEN open_incidents > 0 AND %(status)s IN ('active', 'completed') THEN 'incident'
                  ELSE %(status)s END
WHERE id = %(instance)s AND head = %(head)s AND open_incidents = %(open_incidents)s
RETURNING id, status
