UPDATE workflows_batch_item SET status = %s, before = %s, after = %s, reason = %s WHERE id = %s
