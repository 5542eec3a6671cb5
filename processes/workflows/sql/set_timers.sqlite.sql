INSERT INTO workflows_timer (instance_id, local, element, due_at, fence)
VALUES (%s, %s, %s, %s, 0)
ON CONFLICT (instance_id, local) DO UPDATE SET due_at = excluded.due_at, fence = workflows_timer.fence + 1
