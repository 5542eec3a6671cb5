UPDATE sensors_sensorstate AS state
SET
    value = fresh.value,
    changed_at = to_timestamp(fresh.changed_at / 1000.0),
    last_at = to_timestamp(fresh.last_at / 1000.0),
    last_id = fresh.last_id,
    seen_at = to_timestamp(fresh.seen_at / 1000.0),
    lost_at = to_timestamp(fresh.lost_at / 1000.0),
    check_at = to_timestamp(fresh.check_at / 1000.0)
FROM unnest(%b::text[], %b::smallint[], %b::bigint[], %b::bigint[], %b::text[], %b::bigint[], %b::bigint[], %b::bigint[])
    AS fresh (sensor_id, value, changed_at, last_at, last_id, seen_at, lost_at, check_at)
WHERE state.sensor_id = fresh.sensor_id
