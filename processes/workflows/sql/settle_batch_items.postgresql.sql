UPDATE workflows_batch_item AS item
SET status = settled.status, before = settled.before, after = settled.after, reason = settled.reason
FROM unnest(%b::text[], %b::integer[], %b::integer[], %b::text[], %b::bigint[])
    AS settled (status, before, after, reason, id)
WHERE item.id = settled.id
