INSERT INTO workflows_batch_item (batch_id, instance, status, reason) VALUES (%s, %s, 'waiting', '')
