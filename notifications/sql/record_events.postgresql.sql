-- The order of the rows becomes the order of the ids.
INSERT INTO notifications_event (type, subject, payload, at, correlation_id)
SELECT type, subject, payload::jsonb, at, correlation_id
FROM unnest(%b::text[], %b::text[], %b::text[], %b::timestamptz[], %b::text[])
    WITH ORDINALITY AS fresh (type, subject, payload, at, correlation_id, place)
ORDER BY place
