UPDATE sensors_sensorstate AS state
SET check_at = fresh.check_at
FROM unnest(%b::timestamptz[], %b::text[]) AS fresh (check_at, sensor_id)
WHERE state.sensor_id = fresh.sensor_id
