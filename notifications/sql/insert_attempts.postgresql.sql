INSERT INTO notifications_attempt (delivery_id, at, url, status, duration_ms, error, answer)
SELECT * FROM unnest(
    %b::bigint[], %b::timestamptz[], %b::text[], %b::smallint[], %b::integer[], %b::text[], %b::text[]
)
