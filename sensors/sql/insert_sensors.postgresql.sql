INSERT INTO sensors_sensor (id, address, notes, active, heartbeat_timeout, open_limit, muted_until)
SELECT * FROM unnest(
    %b::text[], %b::text[], %b::text[], %b::boolean[], %b::integer[], %b::integer[], %b::timestamptz[]
)
