INSERT INTO records_changerecord (kind, object_id, action, before, after, actor, correlation_id, reverts_id, at)
SELECT kind, object_id, action, before::jsonb, after::jsonb, actor, correlation_id, reverts_id, at
FROM unnest(
    %b::text[], %b::text[], %b::text[], %b::text[], %b::text[], %b::text[], %b::text[], %b::bigint[], %b::timestamptz[]
) WITH ORDINALITY AS fresh (kind, object_id, action, before, after, actor, correlation_id, reverts_id, at, place)
ORDER BY place
RETURNING id
