INSERT INTO workflows_batch_item (batch_id, instance, status, reason)
SELECT batch, instance, 'waiting', '' FROM unnest(%b::uuid[], %b::uuid[]) AS fresh (batch, instance)
