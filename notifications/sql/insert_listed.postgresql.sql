INSERT INTO notifications_listedsubject (delivery_id, endpoint_id, subject, is_open)
SELECT delivery_id, endpoint_id, subject, true
FROM unnest(%b::bigint[], %b::bigint[], %b::text[]) AS fresh (delivery_id, endpoint_id, subject)
