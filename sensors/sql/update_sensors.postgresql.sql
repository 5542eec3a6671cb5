UPDATE sensors_sensor AS sensor
SET
    address = fresh.address,
    notes = fresh.notes,
    active = fresh.active,
    heartbeat_timeout = fresh.heartbeat_timeout,
    open_limit = fresh.open_limit,
    muted_until = fresh.muted_until
FROM unnest(
    %b::text[], %b::text[], %b::boolean[], %b::integer[], %b::integer[], %b::timestamptz[], %b::text[]
) AS fresh (address, notes, active, heartbeat_timeout, open_limit, muted_until, id)
WHERE sensor.id = fresh.id
